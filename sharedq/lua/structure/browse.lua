--[[
structure/browse.lua - MQGET that leaves the message: the next one after the cursor that fits.

KEYS
  1 own, 2 messages, 3 queue, 4 available, 5 index, 6 waiters, 7 expiry, 8 wake, 9 journal
ARGV
  1  owner        owner token of the caller
  2  queue_name
  3  version      of the definition the caller decided by
  4  cursor       score after which to look; 0 from the start
  5  length_max   longest body the caller takes, bytes; more is cut
  6  wait         "" or the entry of its wait: wait when nothing fits
  7  journal_max
  8  id, 9 number, 10 prefix, 11 msgid, 12 correl   the selection
REPLY       { 0, length of the body, id, record, score } | { 1, version, definition } stale
            | { 2, "" } look again: so many expired messages were found that there may be more
            | { 3 } members of groups are there, { 4 } marked messages: structure/get_grouped knows of them | { reason }
REASONS     2009 CONNECTION_BROKEN | 2052 Q_DELETED | 2033 NO_MSG_AVAILABLE | 2034 NO_MSG_UNDER_CURSOR
            | 2219 CALL_IN_PROGRESS
INVARIANTS  1 one state, 2 fencing
RIGHTS      asked by structure/attach
COST        O(log depth)
USES        place, select, waiting, journal
]]
local own, messages, expiry = KEYS[1], KEYS[2], KEYS[7]
local owner, cursor, length_max = ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5])
local STALE, LOOK_AGAIN, GROUPED, MARKED, EXPIRED_MAX = 1, 2, 3, 4, 100

local waiting = redis.call("HGET", own, owner)
if not waiting then return { MQRC.CONNECTION_BROKEN } end
local version, members, marked = unpack(redis.call("HMGET", KEYS[3], "ver", "gm", "mk"))
-- A woken caller owes the queue a look, and stays noted until it has looked: its recovery passes the wake-up on.
if version and version ~= ARGV[3] then return { STALE, version, redis.call("HGET", KEYS[3], "def") } end
if version and ((members or "0") ~= "0" or marked) then return { marked and MARKED or GROUPED } end
-- The common case first, before any function is made: the next message of all, or by the index, if it does not expire.
if version and waiting == "" and ARGV[8] == "" and ARGV[9] == "" then
    local prefix, id, score = ARGV[10], nil, nil
    if prefix == "" then
        local after = "(" .. string.format("%.0f", cursor)
        id, score = unpack(redis.call("ZRANGEBYSCORE", KEYS[4], after, "+inf", "WITHSCORES", "LIMIT", 0, 1))
    else
        INLINE.find_by_index(KEYS[5], prefix, cursor, id, score)
    end
    local record = id and redis.call("HGET", messages, id)
    if not id then
        if ARGV[6] ~= "" then INLINE.register(KEYS[6], KEYS[3], own, owner, ARGV[2], ARGV[6]) end
        return { MQRC.NO_MSG_AVAILABLE }
    elseif bit.band(string.byte(record), 2) == 0 then
        local _, _, _, high, low = string.byte(record, 1, 5)
        local offset = high * 256 + low
        local length = #record - offset
        if length > length_max then record = string.sub(record, 1, offset + length_max) end
        return { 0, length, id, record, score }
    end
end
-- PRELUDE
local queue = { name = ARGV[2], q = KEYS[3], a = KEYS[4], i = KEYS[5], w = KEYS[6] }
local selection = { id = ARGV[8], number = ARGV[9], prefix = ARGV[10], msgid = ARGV[11], correl = ARGV[12] }
if waiting ~= "" and stop_waiting(queue, own, owner, waiting, KEYS[8]) then return { MQRC.CALL_IN_PROGRESS } end
if not version then return { MQRC.Q_DELETED } end

local expired, found = {}, 0
local id, score, record = find(queue, messages, selection, cursor)
while id and needs_look(id) and is_expired(record) and found < EXPIRED_MAX do
    redis.call("ZREM", queue.a, id)
    if end_expired(queue, messages, expiry, id, score, record) then
        redis.call("HDEL", messages, id)
        expired[#expired + 1] = id
    end
    found = found + 1
    id, score, record = find(queue, messages, selection, cursor)
end
if found > 0 then INLINE.note_change(queue.q, queue.a, queue.name, owner, 0, found) end
if #expired > 0 then
    journal(KEYS[9], ARGV[7], "e", "expire", "o", owner, "q", queue.name, "i", table.concat(expired, " "))
end
if found == EXPIRED_MAX then
    -- Not served yet: a caller that dies before it looks again leaves the wake-up to its recovery.
    if waiting ~= "" then redis.call("HSET", own, owner, "K" .. queue.name) end
    return { LOOK_AGAIN, "" }
end
if not id then
    if selection.id ~= "" then return { MQRC.NO_MSG_UNDER_CURSOR } end
    if ARGV[6] ~= "" then start_waiting(queue, own, owner, ARGV[6]) end
    return { MQRC.NO_MSG_AVAILABLE }
end
local length = #record - body_offset(record)
if length > length_max then record = string.sub(record, 1, body_offset(record) + length_max) end
return { 0, length, id, record, string.format("%.0f", score) }
