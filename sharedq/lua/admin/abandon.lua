--[[
admin/abandon.lua - a living process lost a connection in the middle of a call: its work is to be backed out.

The connection gets a lease that has run out, so that a manager's watch finds and recovers it like a dead process.
One whose process was claimed already gets none: the recovery of the process covers it.

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
local leases, own, owner = KEYS[1], KEYS[2], ARGV[1]
local process = string.match(owner, "^(.*)%.%d+$")
if redis.call("HEXISTS", own, owner) == 1 and redis.call("ZSCORE", leases, process) then
    redis.call("ZADD", leases, now_ms(), owner)
end
return { 0 }
