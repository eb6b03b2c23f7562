--[[
structure/get_grouped.lua - MQGET where groups, segments, locks or marks count: they are asked for, members of groups or
marked messages are there, or the handle has something locked. And that of programs from the transmit queue:
what they get has a header in front, for which their buffers must have room.

Takes or browses. It does for all queues what structure/get and structure/browse do for queues without members: plain
messages and members stand in two sets, and completeness is known by what prelude/groups counts. A logical message
that is to be put together is taken whole: its segments leave in this one call.

KEYS
  1 own, 2 messages, 3 queue, 4 available, 5 index, 6 waiters, 7 unit, 8 expiry, 9 wake, 10 journal,
  11 wake_base, 12 groups, 13 members
  14 locks      hash    what handles have locked; this and what follows only with ARGV 29
  15 marks, 16 marks_base, 17 handles
ARGV
  1  owner        owner token of the caller
  2  queue_name
  3  version      of the definition the caller decided by
  4  count        messages wanted, 1..100; 1 with everything but a selection of any message
  5  unit_id      id of the unit of work, or ""
  6  mode         0 outside, 1 inside the unit of work, s inside and marked to skip its backout, 2 inside if persistent,
                  b browse
  7  length_max   longest body the caller takes, bytes
  8  truncate     1: a longer body is accepted (2079); 0: the message stays (2080). 3, 2: the same, and the library puts
                  an MQMDE in front of a message that is in a group or is a segment, for which there must be room
  9  bytes_max    stop filling a batch after this many bytes
  10 wait         "" or the entry of its wait: wait when nothing fits. Before that "=": sent after a commit in the same
                  write, do nothing unless that has ended its unit of work
  11 journal_max
  12 cursor       score after which to look; 0 from the start
  13 horizon      score up to which an earlier call of this search has looked; 0 none
  14 id, 15 number, 16 msgid, 17 correl, 18 group, 19 seq, 20 offset   the selection; "" asks nothing
  21 level        2: the whole group must be there; 1: the logical message; 0: neither
  22 firsts       1: only what begins something
  23 fixed        1: group, seq and offset say which message; it must have the other fields of the selection (2247)
  24 persistence  "" or what the message's must be (2245)
  25 whole        1: take all segments of a logical message; the library joins them
  26 under_cursor 1: the id is of the message under the browse cursor
  27 unit_is_open 1: the connection has a unit of work under way (2255)
  28 room         messages that the unit of work may still hold (2024)
  29 handle       number of the handle; absent where neither locks nor marks count
  30 lock         1: lock what is browsed
  31 marking      letters: h mark for the handle, c for the co-operating set; H, C: unmark; s pass over what is marked;
                  t the handle is of the co-operating set; m it is a mover's
  32 mark_ms      how long a mark of the co-operating set lasts; -1 without an end
  33 members      with m: names of the group's members, a line each, and a line end before the first; the queue knows
                  later ones, if any. A message whose header names another manager is marked, and passed over
REPLY       { 0 | 2079 | 2080, length of the first message, { score of the first, members left on the queue, segments
            used of those returned, or 0 [, messages locked now, 1 while anything is marked] }, id, record, ... }
            | { 1, version, definition } stale | { 2, horizon [, "B"] } look again
            | { 2033 [, "B" wait as a browse from now on, or ""] [, ms until a mark ends] }
            | { 4 } messages are marked: say the handle | { reason }
REASONS     2009 CONNECTION_BROKEN | 2052 Q_DELETED | 2033 NO_MSG_AVAILABLE | 2034 NO_MSG_UNDER_CURSOR
            | 2102 RESOURCE_PROBLEM | 2219 CALL_IN_PROGRESS | 2003 BACKED_OUT ("=" only) | 2079 TRUNCATED_MSG_ACCEPTED | 2080 TRUNCATED_MSG_FAILED
            | 2024 SYNCPOINT_LIMIT_REACHED | 2200 MSG_MARKED_BROWSE_CO_OP | 2245 INCONSISTENT_UOW | 2247 MATCH_OPTIONS_ERROR | 2255 UOW_NOT_AVAILABLE
INVARIANTS  1 one state, 2 fencing, 5 position, 8 once
RIGHTS      asked by structure/attach
COST        O(count * log depth); segments of the logical message that is put together, or is locked
USES        place, sources, waiting, unit_of_work, journal, locks, marks
]]
local own, messages, unit, expiry = KEYS[1], KEYS[2], KEYS[7], KEYS[8]
local queue = { name = ARGV.queue_name, q = KEYS[3], a = KEYS[4], i = KEYS[5], w = KEYS[6], g = KEYS[12], r = KEYS[13], l = KEYS[14] }
queue.k, queue.h, queue.revealed = KEYS[15], KEYS[17], {}
local owner, count, unit_id, mode, length_max = ARGV.owner, tonumber(ARGV.count), ARGV.unit_id, ARGV.mode, tonumber(ARGV.length_max)
local truncate, bytes_max, wait_text = ARGV.truncate % 2 == 1, tonumber(ARGV.bytes_max), ARGV.wait
-- A message marked to skip its back-out is got as any other, and only noted by another letter.
local noted_as = "G"
if mode == "s" then mode, noted_as = "1", "S" end
local is_fixed, is_under_cursor = ARGV.fixed == "1", ARGV.under_cursor == "1"
local want = {
    id = ARGV.id, number = ARGV.number, msgid = ARGV.msgid, correl = ARGV.correl, group = ARGV.group, seq = ARGV.seq,
    offset = ARGV.offset, level = tonumber(ARGV.level), firsts = ARGV.firsts == "1", whole = ARGV.whole == "1",
}
local handle, asks_lock = ARGV.handle and owner .. "#" .. ARGV.handle, ARGV.lock == "1"
local marking = ARGV.marking or ""
-- A get that asks for any of this may rightly pass over what comes first.
want.is_chosen = want.id .. want.number .. want.msgid .. want.correl .. want.group .. want.seq .. want.offset ~= ""
    or is_under_cursor or want.level > 0 or want.firsts or want.whole or ARGV.cursor ~= "0"
    or string.find(marking, "[sm]") ~= nil
local STALE, LOOK_AGAIN, MARKED, EXPIRED_MAX, OPERATION_MAX = 1, 2, 4, 100, 100

local waiting = redis.call("HGET", own, owner)
if not waiting then return { MQRC.CONNECTION_BROKEN } end
if string.byte(wait_text) == 61 then
    if redis.call("EXISTS", unit) == 1 then return { MQRC.BACKED_OUT } end
    wait_text = string.sub(wait_text, 2)
end
local asked_as = string.sub(wait_text, 1, 1)
local version, left, marked, armed = unpack(redis.call("HMGET", queue.q, "ver", "gm", "mk", "ev"))
-- A woken waiter owes the queue a look, and stays noted until it has looked: its recovery passes the wake-up on.
if version and version ~= ARGV.version then return { STALE, version, redis.call("HGET", queue.q, "def") } end
if version and marked and not handle then return { MARKED } end
local marks = version and (marked or marking ~= "") and marks_of(queue, KEYS[16]) or nil
local mark_ends_in = marks and marks.end_overdue()
-- More of them are over than one call ends.
if mark_ends_in == 0 then return { LOOK_AGAIN, ARGV.horizon } end
if waiting ~= "" and stop_waiting(queue, own, owner, waiting, KEYS[9]) then return { MQRC.CALL_IN_PROGRESS } end
if not version then return { MQRC.Q_DELETED } end

-- From here to `settle` what the handle has locked is on the queue, for this call to find.
local mine = handle and take_lock_off(queue, messages, expiry, handle, marks) or {}
-- With the messages that it has locked something may be complete for this handle alone: it waits for certain messages.
if #mine > 0 and string.find(wait_text, "^[AED]") then wait_text = "V" .. owner end

local function asks(letter)
    return string.find(marking, letter, 1, true) ~= nil
end

if marks and asks("s") then
    local holders = asks("t") and { handle, "C" } or { handle }
    want.skips = function(id)
        for _, holder in ipairs(holders) do
            if marks.is_marked(id, holder) then return true end
        end
        return false
    end
    want.leap = function(key, from) return marks.skip(key, key == queue.r, from, holders) end
end
if marks and asks("m") then
    -- Of a transmission-queue header: its length, and where in it the name of the manager begins.
    local HEADER_LENGTH, MANAGER_AT, NAME_LENGTH, holders = 428, 56, 48, { "M" }
    local members = redis.call("HGET", queue.q, "mm") or ARGV.members
    local function is_for_another(record)
        local at = body_offset(record)
        if #record < at + HEADER_LENGTH or string.sub(record, at + 1, at + 4) ~= "XQH " then return false end
        local from = at + MANAGER_AT + 1
        local name = string.match(string.sub(record, from, from + NAME_LENGTH - 1), "^(.*[^ %z])") or ""
        return string.find(name, "\n", 1, true) or not string.find(members, "\n" .. name .. "\n", 1, true)
    end

    want.skips = function(id, score)
        if marks.is_marked(id, "M") then return true end
        local record = redis.call("HGET", messages, id)
        if not (record and is_for_another(record)) then return false end
        marks.mark({ id = id, score = score, record = record }, "M")
        return true
    end
    want.leap = function(key, from) return marks.skip(key, key == queue.r, from, holders) end
end
-- EXTENSION
local is_woken, woken_by = string.sub(waiting, 1, 1) == "K", string.match(waiting, "^K[^\n]*\n(.+)$")
local after = tonumber(ARGV.cursor)
-- Something came since this search began: it may be where the search has been already.
if not is_woken then after = math.max(after, tonumber(ARGV.horizon)) end
-- This search has looked into everything complete, in vain.
want.goes_on = not is_woken and ARGV.horizon ~= "0"

local expired, found_dead, got = {}, 0, 0
local function take_from_place(item)
    -- Members have no place among the others.
    if not item.member then redis.call("ZREM", queue.a, item.id) end
    if marks then marks.drop(item.id) end
end

local function take_out(items)
    local looked_at = {}
    for _, item in ipairs(items) do
        take_from_place(item)
        if needs_look(item.id) then looked_at[#looked_at + 1] = item end
    end
    look_after_all(queue, messages, expiry, -1, looked_at)
end

local function discard(item)
    take_from_place(item)
    found_dead = found_dead + 1
    if end_expired(queue, messages, expiry, item.id, item.score, item.record) then
        redis.call("HDEL", messages, item.id)
        expired[#expired + 1] = item.id
    end
end

local function look()
    if not is_fixed then return find_wanted(queue, messages, want, after) end
    -- The place is known, wherever the queue stands; the rest of the request is judged when the message is there.
    local there = { id = "", number = "", msgid = "", correl = "", level = want.level, whole = want.whole }
    there.group, there.seq, there.offset = want.group, want.seq, want.offset
    return find_wanted(queue, messages, there, 0)
end

-- The first that is not expired, with the segments to be put together; nil and a horizon.
local function find_living()
    while found_dead < EXPIRED_MAX do
        local found, horizon = look()
        if not found then return nil, horizon end
        local member = needs_look(found.id) and is_member(queue, found.record) and member_of(found.record)
        local dead = member and want.level > 0 and groups_of(queue, messages).expired_one(member.group)
        if dead then
            discard(dead)
        elseif needs_look(found.id) and is_expired(found.record) then
            discard(found)
        elseif want.whole and member and member.is_segment then
            local items = segments_of(queue, messages, found)
            if items then return items end
            -- Bytes enough, but not those that are missing: overlapping segments are no logical message.
            return nil, not (is_fixed or is_under_cursor) and found.score or nil
        else
            return { found }
        end
    end
    return nil, after
end

local function have_one_set(item, other)
    local numbers, others = item.member.numbers, other.member.numbers
    return numbers[5] == others[5] and numbers[6] == others[6]
end

-- The getter was woken and found nothing.
local function leave_to_others()
    if not (is_woken and is_anything_on(queue)) then return end
    local kind = string.sub(wait_text, 1, 1)
    if asks_lock and ARGV.cursor ~= "0" and kind ~= "B" then
        -- A browse with a lock counts as a get when waiters are chosen, but this one has looked after its cursor only.
        -- From now on it waits as a browse, so that two of this kind do not wake each other for ever.
        wake_everyone(queue, own, KEYS[11])
        if wait_text ~= "" then wait_text = "B" .. owner end
        return
    end
    -- A get of any message, or of any that begins something, found nothing that others could want.
    if kind ~= "A" and kind ~= "B" and kind ~= "D" then
        local by_number = want.number ~= "" and "N" .. want.number .. " " .. owner or ""
        pass_on(queue, messages, own, KEYS[11], wait_text ~= "" and wait_text or by_number, woken_by)
    end
end

-- The getter was woken and has taken something. A message that completes a group may make more than one eligible. A getter that
-- asks for a place in a group may have taken another message than the waiters after it want; so may any getter,
-- whatever woke it.
local function share()
    local kind = string.sub(wait_text, 1, 1)
    if woken_by and score_of(queue, woken_by) then
        wake_for_what_is_left(queue, messages, own, KEYS[11], woken_by)
    elseif is_woken and (kind == "V" or kind == "E" or kind == "") and is_anything_on(queue) then
        pass_on(queue, messages, own, KEYS[11], wait_text, woken_by)
    end
end

-- The getter was woken and must not have what it found, or has no room for it: wake the other waiters for the message.
local function leave(first)
    if is_woken then wake_for_what_is_left(queue, messages, own, KEYS[11], first.id) end
end

-- Keeps or ends the lock, by how the call ends; `items` is what it returns, nil where it returns nothing.
local function settle(reply, items)
    local is_done = items and reply[1] ~= MQRC.TRUNCATED_MSG_FAILED
    local found_nothing = reply[1] == MQRC.NO_MSG_AVAILABLE
    local keeps = mode ~= "b" or not (is_done or found_nothing) or (is_under_cursor and asks_lock)
    local to_lock, to_free, is_taken = {}, {}, {}
    if asks_lock and is_done then
        for position, item in ipairs(items) do to_lock[position], is_taken[item.id] = item, true end
    end
    for _, item in ipairs(mine) do
        -- This call may have got it, or found it expired.
        if not is_taken[item.id] and score_of(queue, item.id) then
            local into = keeps and to_lock or to_free
            into[#into + 1] = item
        end
    end
    lock(queue, messages, expiry, handle, to_lock, marks)
    tell_waiters(queue, own, KEYS[11], to_free)
    if armed and #to_free > 0 then INLINE.note_look(queue.q) end
    if items then
        local state = redis.call("HMGET", queue.q, "gm", "mk")
        reply[3][2], reply[3][4], reply[3][5] = state[1] or "0", #to_lock, state[2] and 1 or 0
    end
end

local function finish(reply, items)
    if handle then settle(reply, items) end
    tell_of_revealed(queue, messages, own, KEYS[11])
    local went, is_call = got, got > 0
    if not is_call then went = found_dead end
    if armed and went > 0 then INLINE.note(armed, queue.q, queue.a, queue.name, owner, 0, went, is_call) end
    if #expired > 0 then
        journal(KEYS[10], ARGV.journal_max, "e", "expire", "o", owner, "q", queue.name, "i", table.concat(expired, " "))
    end
    return reply
end

local items, horizon = find_living()
if not items then
    leave_to_others()
    local reply = { is_under_cursor and MQRC.NO_MSG_UNDER_CURSOR or MQRC.NO_MSG_AVAILABLE }
    if horizon then reply = { LOOK_AGAIN, string.format("%.0f", horizon) } end
    -- A lock ends before the wait begins: a message that was locked must not wake the handle that had it.
    reply = finish(reply)
    -- Also where it has to look again: each message from now on wakes it, and its search begins anew.
    if wait_text ~= "" then start_waiting(queue, own, owner, wait_text) end
    if string.byte(wait_text) == 66 and asked_as ~= "B" then reply[#reply + 1] = "B" end
    -- Messages that were passed over because they are marked become eligible then.
    if not horizon and asks("s") and asks("t") and mark_ends_in then
        reply[2], reply[3] = reply[2] or "", mark_ends_in
    end
    return reply
end

local first = items[1]
local function refuse(reason)
    leave(first)
    return finish({ reason })
end

-- Whether too much is to be done for so many segments. One that has identifiers of its own or expires has more entries, one that
-- is locked leaves and comes with each call of the handle, and a report is counted by its type, too.
local function are_too_many()
    if #items == 1 then return false end
    local work = 0
    for _, item in ipairs(items) do
        work = work + (bit.band(string.byte(item.record), EXPIRY + CORREL + MSGID) == 0 and 1 or 2)
    end
    return work * (asks_lock and 2 or 1) * (first.member.of_type and 2 or 1) > SEGMENTS_MAX
end

if are_too_many() then return refuse(MQRC.RESOURCE_PROBLEM) end
if is_fixed then
    want.level, want.group, want.seq, want.offset = 0, "", "", ""
    local is_other = want.id ~= "" and want.id ~= first.id
    if is_other or not fits(queue, messages, want, first.id, first.record) then
        return refuse(MQRC.MATCH_OPTIONS_ERROR)
    end
end
local is_persistent = has(first.record, PERSISTENT)
if ARGV.persistence ~= "" and is_persistent ~= (ARGV.persistence == "1") then return refuse(MQRC.INCONSISTENT_UOW) end
if #items > 1 and mode == "0" and is_persistent and ARGV.unit_is_open == "1" then
    return refuse(MQRC.UOW_NOT_AVAILABLE)
end

-- The caller gets one message, one logical message in its segments, or a batch of messages one by one.
local XQH_LENGTH, MDE_LENGTH = 428, 72
local function length_of(item)
    local length = item.length or #item.record - body_offset(item.record)
    if has(item.record, DESTINATION) and is_transmit_queue(queue) then
        length = length + XQH_LENGTH + (has(item.record, GROUP) and MDE_LENGTH or 0)
    end
    return length
end

local used = #items
for position = 2, #items do
    if not have_one_set(items[position], first) then
        used = position - 1
        break
    end
end
local is_in_unit = mode == "1" or (mode == "2" and is_persistent)
if is_in_unit and used > tonumber(ARGV.room) then return refuse(MQRC.SYNCPOINT_LIMIT_REACHED) end
local total = 0
for position = 1, used do total = total + length_of(items[position]) end
-- The report about the only segment may have less than its data, too.
local is_put_together = #items > 1 or (first.length or 0) > #first.record - body_offset(first.record)
local reply = { 0, total, { string.format("%.0f", first.score), left, is_put_together and used or 0 } }
-- A header of the transmission queue has its own.
if ARGV.truncate + 0 > 1 and has(first.record, GROUP) and not (has(first.record, DESTINATION) and is_transmit_queue(queue)) then
    length_max = length_max - MDE_LENGTH
end
if total > length_max then reply[1] = truncate and MQRC.TRUNCATED_MSG_ACCEPTED or MQRC.TRUNCATED_MSG_FAILED end

local function give(item)
    reply[#reply + 1] = item.id
    -- A single one is cut here; segments are cut by the caller that puts them together.
    -- A report about the delivery has more of the data than the program, perhaps.
    local is_whole = is_put_together or truncate and has(item.record, REPORT)
    local cut = not is_whole and length_of(item) > length_max
    reply[#reply + 1] = cut and string.sub(item.record, 1, body_offset(item.record) + math.max(length_max, 0)) or item.record
end

for _, item in ipairs(items) do give(item) end
if marking ~= "" and reply[1] ~= MQRC.TRUNCATED_MSG_FAILED then
    if asks("c") and marks.is_marked(first.id, "C") then return refuse(MQRC.MSG_MARKED_BROWSE_CO_OP) end
    if asks("h") then marks.mark(first, handle) end
    if asks("c") then marks.mark(first, "C", ARGV.mark_ms == "-1" and "inf" or now_ms() + tonumber(ARGV.mark_ms)) end
    if asks("H") then marks.unmark(first.id, handle) end
    if asks("C") and marks.is_marked(first.id, "C") then
        marks.unmark(first.id, "C")
        wake_everyone(queue, own, KEYS[11])
    end
end
if mode == "b" and not (asks_lock and reply[1] == MQRC.TRUNCATED_MSG_FAILED) then
    finish(reply, items)
    if asks_lock then share() end
    return reply
end
if reply[1] == MQRC.TRUNCATED_MSG_FAILED then
    leave(first)
    return finish(reply, items)
end

local taken, bytes = {}, total
for position = 1, used do taken[position] = items[position] end
take_out(taken)
while #taken < count do
    local more = find_living()
    local length = more and length_of(more[1])
    if not more or length > length_max or bytes + length > bytes_max then break end
    bytes = bytes + length
    give(more[1])
    take_out(more)
    taken[#taken + 1] = more[1]
end

local gone, kept, scores = {}, {}, {}
for _, item in ipairs(taken) do
    if mode == "1" or (mode == "2" and has(item.record, PERSISTENT)) then
        kept[#kept + 1] = item.id
        scores[#kept] = string.format("%.0f", item.score)
    else
        gone[#gone + 1] = item.id
    end
end
-- In pieces: neither Lua nor a chunk of a commit takes any number at once.
for from = 1, #gone, OPERATION_MAX do
    redis.call("HDEL", messages, unpack(gone, from, math.min(from + OPERATION_MAX - 1, #gone)))
end
for from = 1, #kept, OPERATION_MAX do
    local to = math.min(from + OPERATION_MAX - 1, #kept)
    record_operation(unit, unit_id, noted_as, queue.name, { unpack(kept, from, to) }, { unpack(scores, from, to) })
end
local chosen = want.is_chosen and { "c", is_fixed and "2" or "1" } or {}
if #gone > 0 then
    journal(KEYS[10], ARGV.journal_max, "e", "get", "o", owner, "q", queue.name, "i", table.concat(gone, " "), unpack(chosen))
end
if #kept > 0 then
    redis.call("HINCRBY", queue.q, "gu", #kept)
    journal(KEYS[10], ARGV.journal_max, "e", "get", "o", owner, "q", queue.name, "u", unit_id, "i", table.concat(kept, " "),
        unpack(chosen))
end
got = #taken
reply[3][2] = redis.call("HGET", queue.q, "gm") or "0"
share()
return finish(reply, taken)
