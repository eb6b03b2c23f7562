--[[
admin/hold_subscription.lua - a connection opens a subscription that exists (MQSO_RESUME, MQSO_ALTER).

KEYS
  1 subs, 2 holders, 3 own, 4 fence
ARGV
  1  caller  owner token
  2  id
REPLY       { 0, subscription } | { reason }
REASONS     2009 CONNECTION_BROKEN | 2428 NO_SUBSCRIPTION | 2429 SUBSCRIPTION_IN_USE
INVARIANTS  2 fencing (of the caller)
MEMORY      refused when Redis is full
COST        O(1)
USES        recoverer
]]
if is_shut_out(KEYS[3], KEYS[4], ARGV[1], "") then return { MQRC.CONNECTION_BROKEN } end
local known = redis.call("HGET", KEYS[1], ARGV[2])
if not known then return { MQRC.NO_SUBSCRIPTION } end
if redis.call("HSETNX", KEYS[2], ARGV[2], ARGV[1]) == 0 then return { MQRC.SUBSCRIPTION_IN_USE } end
return { 0, known }
