--[[
admin/note_figures.lua - note the figures of the group of one minute, in the place of those of that minute a day before.

KEYS
  1  history  hash  "queues", "group" -> their figures in that minute
ARGV
  1 queues, 2 group
  3  kept_s  seconds after which they are forgotten
REPLY       { 0 }
REASONS     none
INVARIANTS  4 bounded
MEMORY      refused when Redis is full
COST        O(length of the figures)
]]
redis.call("HSET", KEYS[1], "queues", ARGV[1], "group", ARGV[2])
redis.call("EXPIRE", KEYS[1], ARGV[3])
return { 0 }
