--[[
structure/alter_queue.lua - change a local queue's definition, if it is still the one the change was made from.

KEYS
  1 sequence, 2 queue, 3 available, 4 handles, 5 own
ARGV
  1  expected    version the change was made from
  2  definition  JSON
  3  idle_field  "" or a field of the definition that changes only while the queue is empty and closed
  4  caller      owner token of the connection whose MQSET this is; "" for a command
  5  known       JSON of the definition that the change was made from: an event may have changed it in the same version
REPLY       { 0, version } | { 1, version, definition } altered meanwhile | { reason }
REASONS     2009 CONNECTION_BROKEN | 2085 UNKNOWN_OBJECT_NAME | 2042 OBJECT_IN_USE | 2055 Q_NOT_EMPTY
INVARIANTS  2 fencing, 5 position (what is on the queue keeps its place)
COST        O(1)
USES        fence, idle
]]
local queue = { q = KEYS[2], a = KEYS[3], h = KEYS[4] }
local definition, idle_field = ARGV[2], ARGV[3]
local CHANGED = 1
if ARGV[4] ~= "" and is_fenced(KEYS[5], ARGV[4]) then return { MQRC.CONNECTION_BROKEN } end
local known = redis.call("HMGET", queue.q, "ver", "def", "ev", "tt")
if not known[1] then return { MQRC.UNKNOWN_OBJECT_NAME } end
if known[1] ~= ARGV[1] or known[2] ~= ARGV[5] then return { CHANGED, known[1], known[2] } end
local reason = why_not_idle(queue, idle_field, known[2], definition)
if reason then return { reason } end
INLINE.arm_events(queue.q, definition)
local version = redis.call("INCR", KEYS[1])
redis.call("HSET", queue.q, "ver", version, "def", definition)
-- Other conditions: what was triggered by the former ones is triggered by these, too.
if known[4] and known[3] ~= redis.call("HGET", queue.q, "ev") then redis.call("HDEL", queue.q, "tt") end
INLINE.note_altered(queue.q)
-- Gets that wait know the definition of before: until they are woken (structure/wake_all) none is handed a message.
if tonumber(redis.call("HGET", queue.q, "nw") or 0) > 0 then redis.call("HSET", queue.q, "al", 1) end
return { 0, version }
