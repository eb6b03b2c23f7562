--[[
admin/abandon.lua - a living process lost connections in the middle of calls: their work is to be backed out.

Each is shut out first: a call of it may still arrive, its MQCONN too, which would register it, and take its tag, with
nobody left to give them back. Registered, it gets a lease that has run out, so that a manager's watch finds and
recovers it like a dead process. One whose process was claimed already gets neither: the recovery of that covers it.

KEYS
  1 leases, 2 own, 3 fence
ARGV
  1.. owner tokens of the lost connections
REPLY       { 0 }
REASONS     none
INVARIANTS  2 fencing, 3 one decision
COST        O(connections given * log members)
USES        membership
]]
local leases, now = KEYS[1], now_ms()
for _, owner in ipairs(ARGV) do
    if redis.call("ZSCORE", leases, (string.match(owner, "^(.*)%.%d+$"))) then
        redis.call("HSET", KEYS[3], owner, now)
        if redis.call("HEXISTS", KEYS[2], owner) == 1 then redis.call("ZADD", leases, now, owner) end
    end
end
return { 0 }
