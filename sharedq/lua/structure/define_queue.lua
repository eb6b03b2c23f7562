--[[
structure/define_queue.lua - create a local queue in its structure, or give it a definition all over.

KEYS
  1  sequence   string  counter; versions come from it, so that none returns after a delete
  2 queue, 3 available, 4 handles
  5  own        hash    registered owners (the fence); this and what follows only where an MQOPEN makes the queue
  6 made
ARGV
  1  mode        new: must not exist | replace: may exist
  2  definition  JSON
  3  idle_field  "" or a field of the definition that changes only while the queue is empty and closed
  4  may_begin   1, or 0: not where nothing was ever defined in the structure, or all of it is lost
  5  maker       owner token of the connection whose MQOPEN of a model this is; from now on its recovery finds the queue
  6  queue_name  with a maker
REPLY       { 0, version, 1 created or 0 replaced, former definition or "", 1 gets must be woken }
            | { 1, "" } it may not begin | { reason, version }
REASONS     2009 CONNECTION_BROKEN | 2100 OBJECT_ALREADY_EXISTS | 2201 NAME_IN_USE (it is deleted logically) | 2042 OBJECT_IN_USE | 2055 Q_NOT_EMPTY
INVARIANTS  2 fencing (of the maker), 5 position (what is on the queue keeps its place)
MEMORY      refused when Redis is full
COST        O(1)
USES        fence, idle
]]
local queue = { q = KEYS[2], a = KEYS[3], h = KEYS[4] }
local definition, idle_field, maker = ARGV[2], ARGV[3], ARGV[5]
local NOT_BEGUN = 1
if maker and is_fenced(KEYS[5], maker) then return { MQRC.CONNECTION_BROKEN, "" } end
if ARGV[4] == "0" and redis.call("EXISTS", KEYS[1]) == 0 then return { NOT_BEGUN, "" } end
local known = redis.call("HMGET", queue.q, "ver", "def", "del")
if known[3] then return { MQRC.NAME_IN_USE, "" } end
if known[1] then
    if ARGV[1] == "new" then return { MQRC.OBJECT_ALREADY_EXISTS, known[1] } end
    local reason = why_not_idle(queue, idle_field, known[2], definition)
    if reason then return { reason, known[1] } end
end
INLINE.arm_events(queue.q, definition)
local version = redis.call("INCR", KEYS[1])
redis.call("HSET", queue.q, "ver", version, "def", definition)
if known[1] then
    redis.call("HDEL", queue.q, "tt")
    INLINE.note_altered(queue.q)
end
if maker then
    redis.call("HSET", queue.q, "by", maker)
    redis.call("SADD", KEYS[6], ARGV[6])
end
-- Gets that wait know the definition of before: until they are woken (structure/wake_all) none is handed a message.
local waiting = redis.call("HMGET", queue.q, "nw", "al")
local must_wake = tonumber(waiting[1] or 0) > 0
if must_wake then redis.call("HSET", queue.q, "al", 1) end
-- An earlier command may have been cut off before it woke them.
return { 0, version, known[1] and 0 or 1, known[2] or "", (must_wake or waiting[2]) and 1 or 0 }
