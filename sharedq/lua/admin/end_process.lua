--[[
admin/end_process.lua - a process ends in good order: its connections are gone already.

KEYS
  1 leases, 2 processes, 3 fence
ARGV
  1  process
  2.. fields of fence: connections that it lost; none of them can come back without its lease
REPLY       { 0 }
REASONS     none
INVARIANTS  2 fencing
COST        O(log members)
]]
redis.call("ZREM", KEYS[1], ARGV[1])
redis.call("HDEL", KEYS[2], ARGV[1])
if ARGV[2] then redis.call("HDEL", KEYS[3], unpack(ARGV, 2)) end
return { 0 }
