--[[
admin/note_figures.lua - note the figures of the queues of one minute, in the place of those of an hour before.

KEYS
  1  history  string  the figures of a minute
ARGV
  1  figures
  2  kept_s   seconds after which they are forgotten, if no later ones take their place
REPLY       { 0 }
REASONS     none
INVARIANTS  4 bounded
MEMORY      refused when Redis is full
COST        O(length of the figures)
]]
redis.call("SET", KEYS[1], ARGV[1], "EX", ARGV[2])
return { 0 }
