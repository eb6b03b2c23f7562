--[[
admin/add_orphan.lua - a temporary queue whose maker ends has something uncommitted of others: it is to be deleted after that.

KEYS
  1 orphans
ARGV
  1  structure, newline, queue
  2  maker
REPLY       { 0 }
REASONS     none
INVARIANTS  6 sequence under failure (until the queue is deleted, each sweep finds it)
MEMORY      refused when Redis is full
COST        O(1)
]]
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
return { 0 }
