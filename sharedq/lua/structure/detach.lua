--[[
structure/detach.lua - a connection leaves a structure in good order: no work, no handles.

KEYS
  1  own       hash  registered owners
  2  unit      list  the caller's unit of work
  3  wake      list  the caller's wake key
ARGV
  1  owner
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN | 2219 CALL_IN_PROGRESS (it waits: a put that wakes it would register it again)
INVARIANTS  2 fencing
COST        O(1)
]]
local waiting = redis.call("HGET", KEYS[1], ARGV[1])
if not waiting then return { MQRC.CONNECTION_BROKEN } end
if waiting ~= "" then return { MQRC.CALL_IN_PROGRESS } end
redis.call("HDEL", KEYS[1], ARGV[1])
redis.call("DEL", KEYS[3])
return { 0 }
