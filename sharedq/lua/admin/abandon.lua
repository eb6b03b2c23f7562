--[[
admin/abandon.lua - a living process lost a connection in the middle of a call: its work is to be backed out.

The connection gets a lease that has run out, so that a manager's watch finds and recovers it like a dead process.

KEYS
  1  leases  zset  incarnation, process or connection -> deadline
  2  own     hash  registered connections
ARGV
  1  owner   owner token of the lost connection
REPLY       { 0 }
REASONS     none
INVARIANTS  3 one decision
COST        O(log members)
USES        membership
]]
if redis.call("HEXISTS", KEYS[2], ARGV[1]) == 1 then redis.call("ZADD", KEYS[1], now_ms(), ARGV[1]) end
return { 0 }
