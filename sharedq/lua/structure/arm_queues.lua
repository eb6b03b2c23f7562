--[[
structure/arm_queues.lua - begin or end the counting of puts and gets on queues, by what the managers ask for now.

With PERFMEV(ENABLED) at one manager at least, a structure has PERFM among its versions, and each put and get of its
queues checks which manager made it. A queue that is defined meanwhile does the same by itself.

KEYS
  1  versions  hash  "EVENTS QM": a version, and the words for what that manager asks for
  2.. queue    hash  definition and counts of each
ARGV
  1.. "EVENTS QM" of each manager of the group
REPLY       1 some queue is counted, or was; 0 no queue was counted, and none is
REASONS     none
INVARIANTS  4 bounded (the caller gives at most 100 queues)
COST        O(managers + queues)
]]
local was_asked, is_asked = redis.call("HEXISTS", KEYS[1], "PERFM") == 1, false
for _, field in ipairs(ARGV) do
    is_asked = is_asked or string.find(redis.call("HGET", KEYS[1], field) or "", "PERFM", 1, true) ~= nil
end
if is_asked then redis.call("HSET", KEYS[1], "PERFM", 1) else redis.call("HDEL", KEYS[1], "PERFM") end
for position = 2, #KEYS do
    local queue = KEYS[position]
    local definition = redis.call("HGET", queue, "def")
    if definition then INLINE.arm_events(queue, definition) end
end
return (was_asked or is_asked) and 1 or 0
