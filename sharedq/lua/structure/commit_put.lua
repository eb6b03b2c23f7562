--[[
structure/commit_put.lua - MQCMIT whose puts come along: apply the unit of work's gets and its buffered puts at once.

Asynchronous puts that were never sent need not be recorded first: this call is both their put and the decision. For
a unit of work of one structure in which only gets are recorded, and puts on one queue: all of plain messages (see
structure/put_plain), or all of messages with identifiers.

The next get may ride along, in the unit of work that follows: of one message that fits, does not expire and is in no
group, from the front of a queue or by the index. Where nothing is there it waits from this moment on. Where anything
else must be looked at, nothing is got, and the caller asks again.

KEYS
  1 own, 2 sequence, 3 messages
  4  queue      hash    the queue put to: version, definition, counters
  5 available, 6 waiters, 7 wake_base
  8  unit       list    the unit of work
  9 journal
  10 index      zset    selection index of the queue put to
  11.. for each queue got from: queue; then, where a get rides, of its queue: queue, available, waiters, index
ARGV
  1  owner        owner token of the caller, whose unit of work it is
  2  queue_name   of the queue put to
  3  version      of its definition the caller decided by
  4  depth_max    its MAXDEPTH; 999999999 is no limit
  5  journal_max
  6  source       the queue of the get that rides along; "": none rides
  7  source_version  that the get was decided by
  8  longest      body that the get takes
  9.. names of the queues got from, in the order of their keys; then unit_id; operations that must be recorded; the
     journal's text about the messages put; "x": the messages put have identifiers, "": they are plain; the unit of work
     that the get belongs to; "" or the entry of its wait (before that ".", as for structure/get); "" or what it asks
     the index for; then for each of the messages put, at least one: score base, record
REPLY       { 0, 0, messages applied } | { 0, 0, messages applied, { 0, length of the body, id, { record } } } got, too
            | { 0, 0, messages applied, { 2033 } } nothing is there: it waits now, if it said how
            | { 2003, why the put was refused } | { reason }
REASONS     2009 CONNECTION_BROKEN | 2003 BACKED_OUT (an operation is missing, or a message cannot be put: nothing was
            applied), why: 2041 OBJECT_CHANGED, 2052 Q_DELETED, 2053 Q_FULL | in the list: 2033 NO_MSG_AVAILABLE
INVARIANTS  1 one state, 2 fencing, 3 one decision, 5 position, 8 once
MEMORY      refused when Redis is full
RIGHTS      asked by structure/attach
COST        O(messages * log depth)
USES        place
]]
local messages, owner, journal_max, source_name = KEYS[3], ARGV[1], ARGV[5], ARGV[6]
local rides = source_name ~= ""
local queue_count, NAMES = #KEYS - 10 - (rides and 4 or 0), 9
local first_argument = NAMES + queue_count + 7
local unit_id, expected, details, look, next_unit, entry, prefix = unpack(ARGV, NAMES + queue_count, first_argument - 1)
local count = (#ARGV - first_argument + 1) / 2
local blocks = string.byte(entry) == 46
if blocks then entry = string.sub(entry, 2) end

local function answer()
    local waiting = redis.call("HGET", KEYS[1], owner)
    if not waiting then return { MQRC.CONNECTION_BROKEN } end
    local state = redis.call("HMGET", KEYS[4], "ver", "nw", "pu", "lk", "gm", "ev", "mk", "al")
    if state[1] ~= ARGV[3] then return { MQRC.BACKED_OUT, state[1] and MQRC.OBJECT_CHANGED or MQRC.Q_DELETED } end
    if INLINE.is_full(ARGV[4], count, KEYS[5], state[3], state[4], state[5]) then
        if state[6] then INLINE.note_full(KEYS[4], ARGV[2], owner, ARGV[4]) end
        return { MQRC.BACKED_OUT, MQRC.Q_FULL }
    end
    local elements = redis.call("LRANGE", KEYS[8], 0, -1)
    local is_as_expected = elements[1] == "A" .. unit_id and #elements - 1 == tonumber(expected)
    if not is_as_expected and (elements[1] or expected ~= "0") then return { MQRC.BACKED_OUT } end

    local first = redis.call("INCRBY", KEYS[2], count) - count + 1
    local stored, added, ids, is_long = {}, {}, {}, false
    for position = 1, count do
        local at, number = first_argument + 2 * (position - 1), first + position - 1
        local id = string.format("%d", number) .. look
        stored[2 * position - 1], stored[2 * position] = id, ARGV[at + 1]
        added[2 * position - 1], added[2 * position] = ARGV[at] + number, id
        ids[position] = id
        is_long = is_long or #ARGV[at + 1] > CONST.LONG
    end
    redis.call("HSET", messages, unpack(stored))
    if is_long then redis.call("HSET", KEYS[4], "lg", 1) end
    -- A lone message is handed to the get that waits for any message, or for its CorrelId.
    local handed_to
    if state[2] == "1" and count == 1 and look == "" and not is_long then
        INLINE.take_lone_waiter(KEYS[5], KEYS[6], state[5], state[7], state[8], handed_to)
    elseif count == 1 and look ~= "" and (state[2] or "0") ~= "0" then
        INLINE.take_waiter_by_correl(KEYS[4], KEYS[10], KEYS[6], stored[2], handed_to)
    end

    local queues, away = {}, {}
    for at = 1, queue_count do queues[ARGV[NAMES + at - 1]] = KEYS[10 + at] end
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
    if elements[1] then redis.call("DEL", KEYS[8]) end
    if journal_max ~= "0" then
        local ids_text = table.concat(ids, " ")
        INLINE.entry(KEYS[9], journal_max, "e", "put", "o", owner, "q", ARGV[2], "u", unit_id, "i", ids_text, "d", details)
        INLINE.entry(KEYS[9], journal_max, "e", "commit", "o", owner, "u", unit_id, "n", applied, "r", "")
    end
    local went = 0
    if handed_to then
        local id, score, record = ids[1], string.format("%.0f", added[1]), stored[2]
        local chosen = look == "" and {} or { "c", "1" }
        INLINE.hand(KEYS[1], KEYS[7], KEYS[4], ARGV[2], handed_to, id, score, record, messages, KEYS[9], journal_max, chosen)
        went = 1
    else
        local records, left = nil, tonumber(state[2] or 0)
        if look ~= "" then
            records = {}
            for position = 1, count do records[position] = stored[2 * position] end
        end
        if left > 0 then
-- PRELUDE
            local queue = { name = ARGV[2], q = KEYS[4], a = KEYS[5], i = KEYS[10], w = KEYS[6] }
            queue.hand = { messages = messages, journal = KEYS[9], journal_max = journal_max }
            make_available(queue, messages, KEYS[1], KEYS[7], nil, left, added, records)
            went = queue.handed or 0
        elseif records then
            INLINE.make_simple_available(KEYS[5], KEYS[10], added, records)
        else
            redis.call("ZADD", KEYS[5], unpack(added))
        end
    end
    if state[6] then
        INLINE.note(state[6], KEYS[4], KEYS[5], ARGV[2], owner, count, went, true)
        INLINE.note_trigger(state[6], KEYS[4], KEYS[5], ARGV[2], owner, added)
    end
    -- The gets that waited before come before the get that rides.
    local reply = { 0, 0, applied }
    if rides then
        -- As structure/get takes a message. A queue that may have long ones is not for this.
        local source, available = KEYS[11 + queue_count], KEYS[12 + queue_count]
        local there = redis.call("HMGET", source, "ver", "gm", "mk", "lg", "ev")
        if there[1] == ARGV[7] and (there[2] or "0") == "0" and not there[3] and not there[4]
            and tonumber(ARGV[8]) >= CONST.LONG then
            local index, id, score = KEYS[14 + queue_count], nil, nil
            if prefix == "" then
                id, score = unpack(redis.call("ZPOPMIN", available))
            else
                INLINE.find_by_index(index, prefix, 0, id, score)
                if id then redis.call("ZREM", available, id) end
            end
            local needs_look, record = id and string.byte(id, -1) == 120, id and redis.call("HGET", messages, id)
            -- The message expires, or is in a group.
            if needs_look and bit.band(string.byte(record), 18) ~= 0 then
                redis.call("ZADD", available, score, id)
            elseif id then
                if needs_look then
                    local entries, place = {}, tonumber(score)
                    INLINE.identifiers(entries, id, place, record)
                    if entries[1] then redis.call("ZREM", index, unpack(entries)) end
                end
                local chosen = prefix == "" and {} or { "c", "1" }
                if there[5] then INLINE.note(there[5], source, available, source_name, owner, 0, 1, true) end
                away[source] = (away[source] or 0) + 1
                redis.call("RPUSH", KEYS[8], "A" .. next_unit, "G1\n" .. source_name .. "\n" .. id .. "\n" .. score)
                INLINE.journal(KEYS[9], journal_max, "e", "get", "o", owner, "q", source_name, "u", next_unit, "i", id,
                    unpack(chosen))
                local _, _, _, high, low = string.byte(record, 1, 5)
                reply[4] = { 0, #record - high * 256 - low, id, { record } }
            elseif entry == "" then
                reply[4] = { MQRC.NO_MSG_AVAILABLE }
            elseif waiting == "" or (string.byte(waiting) == 72 and not INLINE.is_on_its_way(KEYS[7] .. owner)) then
                local waiters = KEYS[13 + queue_count]
                INLINE.register(waiters, source, KEYS[1], owner, source_name, entry)
                reply[4] = { MQRC.NO_MSG_AVAILABLE }
            end
        end
    end
    for key, number in pairs(away) do
        if number ~= 0 then redis.call("HINCRBY", key, "gu", number) end
    end
    return reply
end

local reply = answer()
if blocks then
    local got = reply[1] == 0 and reply[4] or reply
    INLINE.end_block(KEYS[7] .. owner, got)
end
return reply
