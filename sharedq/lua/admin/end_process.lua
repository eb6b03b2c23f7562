--[[
admin/end_process.lua - a process ends in good order: its connections are gone already.

KEYS
  1  leases     zset
  2  processes  hash
ARGV
  1  process
REPLY       { 0 }
REASONS     none
INVARIANTS  2 fencing
COST        O(log members)
]]
redis.call("ZREM", KEYS[1], ARGV[1])
redis.call("HDEL", KEYS[2], ARGV[1])
return { 0 }
