--[[
structure/detach.lua - a connection leaves a structure in good order: no work, no wait, no handles.

Anything that the connection does not know of (a call was cut short), or could not give back, keeps it registered, for
its recovery.

KEYS
  1 own, 2 unit, 3 wake, 4 holdings, 5 made
ARGV
  1  owner
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN (also: it still holds something, which is for its recovery)
INVARIANTS  2 fencing
COST        O(1)
]]
-- "" or "H", with no message on its way: it does not wait. A put that woke it afterwards would register it again.
local waiting = redis.call("HGET", KEYS[1], ARGV[1])
local has_ended = waiting == ""
if waiting and string.byte(waiting) == 72 then has_ended = not INLINE.is_on_its_way(KEYS[3]) end
if not has_ended or redis.call("EXISTS", KEYS[2], KEYS[4], KEYS[5]) > 0 then
    return { MQRC.CONNECTION_BROKEN }
end
redis.call("HDEL", KEYS[1], ARGV[1])
redis.call("DEL", KEYS[3])
return { 0 }
