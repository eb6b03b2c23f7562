--[[
structure/commit_put.lua - MQCMIT whose puts come along: apply the unit of work's gets and its buffered puts at once.

Asynchronous puts that were never sent need not be recorded first: this call is both their put and the decision. For
a unit of work of one structure in which only gets are recorded, and puts of plain messages (see structure/put_plain)
on one queue.

The next get may ride along: of one plain message that fits, from the front of a queue, in the unit of work that follows.
Where there is no such message, or anything else must be looked at, nothing is got, and the caller asks again.

KEYS
  1  own        hash    registered owners (the fence)
  2  sequence   string  counter of message numbers
  3  messages   hash    message id -> record
  4  queue      hash    the queue put to: version, definition, counters
  5  available  zset    its ids by score
  6  waiters    zset    its waiting gets
  7  wake_base  base    keys that waiting connections block on
  8  unit       list    the unit of work
  9  journal    stream
  10.. for each queue got from: queue; then, where a get rides, queue and available of its queue
ARGV
  1  owner        owner token of the caller, whose unit of work it is
  2  queue_name   of the queue put to
  3  version      of its definition the caller decided by
  4  depth_max    its MAXDEPTH; 999999999 is no limit
  5  unit_id
  6  expected     operations that must be recorded
  7  journal_max
  8  details      the journal's text about the messages put
  9  count        messages put, at least 1
  10 rides        1: the next get rides along; 0: there is none
  11.. for each of them: score base, record; then the names of the queues got from, in the order of their keys; then,
     where a get rides: name of its queue, version it was decided by, unit of work it belongs to, longest body it takes
REPLY       { 0, 0, messages applied } | { 0, 0, messages applied, { 0, length of the body, id, { record } } } got, too
            | { reason }
REASONS     2009 CONNECTION_BROKEN | 2003 BACKED_OUT (an operation is missing, or a message cannot be put: nothing was
            applied)
INVARIANTS  1 one state, 2 fencing, 3 one decision, 5 position, 8 once
MEMORY      refused when Redis is full
RIGHTS      asked by structure/attach
COST        O(messages * log depth)
USES        place
]]
local messages, owner, unit_id = KEYS[3], ARGV[1], ARGV[5]
local count, rides, FIRST = tonumber(ARGV[9]), ARGV[10] == "1", 11
if redis.call("HEXISTS", KEYS[1], owner) == 0 then return { MQRC.CONNECTION_BROKEN } end
local state = redis.call("HMGET", KEYS[4], "ver", "nw", "pu", "lk", "gm", "ev")
if state[1] ~= ARGV[3] then return { MQRC.BACKED_OUT } end
if INLINE.is_full(ARGV[4], count, KEYS[5], state[3], state[4], state[5]) then return { MQRC.BACKED_OUT } end
local elements = redis.call("LRANGE", KEYS[8], 0, -1)
if elements[1] ~= "A" .. unit_id or #elements - 1 ~= tonumber(ARGV[6]) then return { MQRC.BACKED_OUT } end

local first = redis.call("INCRBY", KEYS[2], count) - count + 1
local stored, added, ids, is_long = {}, {}, {}, false
for position = 1, count do
    local at, number = FIRST + 2 * (position - 1), first + position - 1
    stored[2 * position - 1], stored[2 * position] = number, ARGV[at + 1]
    added[2 * position - 1], added[2 * position] = ARGV[at] + number, number
    ids[position] = number
    is_long = is_long or #ARGV[at + 1] > CONST.LONG
end
redis.call("HSET", messages, unpack(stored))
if is_long then redis.call("HSET", KEYS[4], "lg", 1) end
redis.call("ZADD", KEYS[5], unpack(added))
if state[6] then INLINE.note(state[6], KEYS[4], KEYS[5], ARGV[2], owner, count, 0) end

local names, queues, away = FIRST + 2 * count, {}, {}
local queue_count = #KEYS - 9 - (rides and 2 or 0)
for at = 1, queue_count do queues[ARGV[names + at - 1]] = KEYS[9 + at] end
local applied = count
for position = 2, #elements do
    local taken, queue_name, ids_text = INLINE.gets_in(elements[position])
    away[queues[queue_name]] = (away[queues[queue_name]] or 0) - taken
    if taken == "1" then
        redis.call("HDEL", messages, ids_text)
    else
        INLINE.remove_records(messages, ids_text)
    end
    applied = applied + taken
end
redis.call("DEL", KEYS[8])
if ARGV[7] ~= "0" then
    local ids_text = table.concat(ids, " ")
    INLINE.entry(KEYS[9], ARGV[7], "e", "put", "o", owner, "q", ARGV[2], "u", unit_id, "i", ids_text, "d", ARGV[8])
    INLINE.entry(KEYS[9], ARGV[7], "e", "commit", "o", owner, "u", unit_id, "n", applied, "r", "")
end
local reply = { 0, 0, applied }
if rides then
    -- As structure/get takes a message whose id needs no look. A queue that may have long ones is not for this.
    local source, available, at = KEYS[10 + queue_count], KEYS[11 + queue_count], names + queue_count
    local there = redis.call("HMGET", source, "ver", "gm", "mk", "lg", "ev")
    if there[1] == ARGV[at + 1] and (there[2] or "0") == "0" and not there[3] and not there[4]
        and tonumber(ARGV[at + 3]) >= CONST.LONG then
        local id, score = unpack(redis.call("ZPOPMIN", available))
        if id and string.byte(id, -1) == 120 then
            redis.call("ZADD", available, score, id)
        elseif id then
            local record = redis.call("HGET", messages, id)
            if there[5] then INLINE.note(there[5], source, available, ARGV[at], owner, 0, 1) end
            away[source] = (away[source] or 0) + 1
            redis.call("RPUSH", KEYS[8], "A" .. ARGV[at + 2], "G1\n" .. ARGV[at] .. "\n" .. id .. "\n" .. score)
            INLINE.journal(KEYS[9], ARGV[7], "e", "get", "o", owner, "q", ARGV[at], "u", ARGV[at + 2], "i", id)
            local _, _, _, high, low = string.byte(record, 1, 5)
            reply[4] = { 0, #record - high * 256 - low, id, { record } }
        end
    end
end
for key, number in pairs(away) do
    if number ~= 0 then redis.call("HINCRBY", key, "gu", number) end
end
if (state[2] or "0") == "0" then return reply end
-- PRELUDE
local queue = { name = ARGV[2], q = KEYS[4], a = KEYS[5], w = KEYS[6] }
queue.hand = { messages = messages, journal = KEYS[9], journal_max = ARGV[7] }
local waiting = tonumber(state[2])
for _, number in ipairs(ids) do
    if waiting > 0 then waiting = waiting - wake_for(queue, KEYS[1], KEYS[7], tostring(number), "") end
end
if state[6] and queue.handed then INLINE.note(state[6], KEYS[4], KEYS[5], ARGV[2], owner, 0, queue.handed) end
return reply
