--[[
structure/put_in_unit.lua - MQPUT of plain messages in a unit of work, all at one place among the priorities.

The common case of structure/put: one argument a message, and their ids need no look. All of a batch or none.

KEYS
  1  own        hash    registered owners (the fence)
  2  sequence   string  counter of message numbers
  3  messages   hash    message id -> record
  4  queue      hash    version, definition, counters
  5  available  zset    ids by score
  6  unit       list    the caller's unit of work
  7  journal    stream  only where the journal is on
ARGV
  1  owner        owner token of the caller
  2  queue_name
  3  version      of the definition the caller decided by
  4  depth_max    MAXDEPTH; 999999999 is no limit
  5  unit_id
  6  journal_max, 7 details: only with the key of the journal
  .. score base of all messages; a record for each of them
REPLY       { 0, number of the first message } | { 1, version, definition } stale | { reason }
REASONS     2009 CONNECTION_BROKEN | 2052 Q_DELETED | 2053 Q_FULL
INVARIANTS  1 one state, 2 fencing, 5 position
MEMORY      refused when Redis is full
RIGHTS      asked by structure/attach
COST        O(messages)
USES        unit_of_work
]]
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then return { MQRC.CONNECTION_BROKEN } end
local state = redis.call("HMGET", KEYS[4], "ver", "pu", "lk", "gm", "ev")
if not state[1] then return { MQRC.Q_DELETED } end
if state[1] ~= ARGV[3] then return { 1, state[1], redis.call("HGET", KEYS[4], "def") } end
local at = KEYS[7] and 8 or 6
local count, base = #ARGV - at, ARGV[at]
if INLINE.is_full(ARGV[4], count, KEYS[5], state[2], state[3], state[4]) then
    if state[5] then INLINE.note_full(KEYS[4], ARGV[2], ARGV[1], ARGV[4]) end
    return { MQRC.Q_FULL }
end

local first = redis.call("INCRBY", KEYS[2], count) - count + 1
local ids, stored, is_long = {}, {}, false
for position = 1, count do
    -- A third faster than to have Lua write the number by itself.
    local id, record = string.format("%d", first + position - 1), ARGV[at + position]
    ids[position] = id
    stored[2 * position - 1], stored[2 * position] = id, record
    is_long = is_long or #record > CONST.LONG
end
redis.call("HSET", KEYS[3], unpack(stored))
if is_long then redis.call("HSET", KEYS[4], "lg", 1) end
-- Of a run the first score says all.
record_operation(KEYS[6], ARGV[5], "P", ARGV[2], ids, { string.format("%.0f", base + first) })
redis.call("HINCRBY", KEYS[4], "pu", count)
if KEYS[7] then
    local ids_text = table.concat(ids, " ")
    INLINE.entry(KEYS[7], ARGV[6], "e", "put", "o", ARGV[1], "q", ARGV[2], "u", ARGV[5], "i", ids_text, "d", ARGV[7])
end
if state[5] then INLINE.note(state[5], KEYS[4], KEYS[5], ARGV[2], ARGV[1], count, 0) end
return { 0, first }
