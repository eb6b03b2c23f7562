--[[
structure/commit.lua - MQCMIT in one structure: apply what the unit of work recorded there, a chunk at a time.

For a unit of work of this structure alone, the first call is the decision. For one of several structures the
decision record exists already and `expected` is -1. A peer applies the same way for a dead owner.

A retained publication takes the place of its predecessor here, in the moment in which it is committed. Until then the
predecessor is what new subscribers get, whatever becomes of the publisher.

KEYS
  1 own, 2 dead
  3  unit       list  the unit of work; a prepared one stands under its own id
  4 messages, 5 expiry, 6 wake_base, 7 journal
  8.. for each queue of the unit of work: queue, available, index, waiters; where messages put are members of groups,
      for each of them also groups, members
ARGV
  1  caller       owner token of the caller
  2  owner        owner token of the unit of work; the caller's where that is a prepared one
  3  unit_id
  4  expected     operations that must be there; -1 when that was decided elsewhere
  5  budget       messages to apply in this call, at most
  6  journal_max
  7.. names of the queues, in the order of their keys
REPLY       { 0, operations left, messages applied } | { reason }
REASONS     2009 CONNECTION_BROKEN | 2003 BACKED_OUT (an operation is missing: nothing was applied)
INVARIANTS  1 one state, 2 fencing, 3 one decision, 4 bounded, 8 once
RIGHTS      asked by structure/attach
COST        O(budget * log depth)
USES        place, unit_of_work, journal
]]
local own, unit, messages, expiry, wake_base = KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local caller, owner, unit_id, expected = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

-- The common case first, before any function is made: the owner's own, and all in this call; of gets, and of puts of messages
-- with no more than identifiers on queues where nothing is counted, and nobody waits or a lone message is handed over.
local KEYS_PER_QUEUE = (#KEYS - 7) / (#ARGV - 6)
local budget, is_decided = tonumber(ARGV[5]), expected < 0
if caller == owner and expected <= budget and redis.call("HEXISTS", own, caller) == 1 then
    -- One more than there must be, should it be there. Of any number few are read: each chunk of a large one comes here.
    local most = is_decided and 10 or expected
    local elements, operations, keys = redis.call("LRANGE", unit, 0, most + 1), {}, {}
    local count, fits = 0, elements[1] == "A" .. unit_id and (#elements == most + 1 or is_decided and #elements <= most)
    -- The operation whose message a get waits for, that message's record, and the state of the queue.
    local lone, its_record, its_state
    for position = 7, #ARGV do keys[ARGV[position]] = 8 + (position - 7) * KEYS_PER_QUEUE end
    for position = 2, #elements do
        local element, scores_text, added, records = elements[position], nil, nil, nil
        local number, queue_name, ids_text = INLINE.gets_in(element)
        local is_put = not number
        if is_put then
            number, queue_name, ids_text, scores_text = string.match(element, "^P(%d+)\n([^\n]*)\n([^\n]*)\n(.*)$")
        end
        count = count + (number or 0)
        fits = fits and number and count <= budget
        if not fits then break end
        if is_put then
            local state = redis.call("HMGET", KEYS[keys[queue_name]], "nw", "ev", "gm", "mk", "al")
            if (state[1] or "0") ~= "0" then
                fits, lone, its_state = number == "1" and not lone, position - 1, state
            end
            fits = fits and not state[2] and queue_name ~= CONST.RETAINED
            added = {}
            INLINE.list_added(added, ids_text, scores_text)
            if string.find(ids_text, "x", 1, true) then
                local ids = {}
                for at = 2, #added, 2 do ids[at / 2] = added[at] end
                records = redis.call("HMGET", messages, unpack(ids))
                for _, record in ipairs(records) do fits = fits and bit.band(string.byte(record), 18) == 0 end
            end
        end
        operations[position - 1] = { number, keys[queue_name], ids_text, added, records, queue_name, scores_text }
    end
    -- Last, because this takes the get off the waiters.
    local after
    if fits and lone then
        local _, key, id, _, records = unpack(operations[lone], 1, 5)
        its_record = records and records[1] or redis.call("HGET", messages, id)
        if records then
            INLINE.take_waiter_by_correl(KEYS[key], KEYS[key + 2], KEYS[key + 3], its_record, after)
        elseif its_state[1] == "1" and #its_record <= CONST.LONG then
            INLINE.take_lone_waiter(KEYS[key + 1], KEYS[key + 3], its_state[3], its_state[4], its_state[5], after)
        end
        fits = after
    end
    if fits then
        redis.call("DEL", unit)
        INLINE.journal(KEYS[7], ARGV[6], "e", "commit", "o", caller, "u", unit_id, "n", count, "r", "")
        for place, operation in ipairs(operations) do
            local number, key, ids_text, added, records, name, score = unpack(operation, 1, 7)
            if not added then
                redis.call("HINCRBY", KEYS[key], "gu", -number)
                INLINE.remove_records(messages, ids_text)
            else
                redis.call("HINCRBY", KEYS[key], "pu", -number)
                if place == lone then
                    local chosen = records and { "c", "1" } or {}
                    local queue, id = KEYS[key], ids_text
                    INLINE.hand(own, wake_base, queue, name, after, id, score, its_record, messages, KEYS[7], ARGV[6], chosen)
                else
                    INLINE.make_simple_available(KEYS[key + 1], KEYS[key + 2], added, records or {})
                end
            end
        end
        return { 0, 0, count }
    end
end
-- PRELUDE
if may_not_end(own, KEYS[2], caller, owner) then return { MQRC.CONNECTION_BROKEN } end

local queues = {}
for position = 7, #ARGV do
    local key = 8 + (position - 7) * KEYS_PER_QUEUE
    local queue = { name = ARGV[position], q = KEYS[key], a = KEYS[key + 1], i = KEYS[key + 2], w = KEYS[key + 3] }
    queue.hand = { messages = messages, journal = KEYS[7], journal_max = ARGV[6] }
    if KEYS_PER_QUEUE > 4 then queue.g, queue.r = KEYS[key + 4], KEYS[key + 5] end
    queues[ARGV[position]] = queue
end

local state, operations, count = next_chunk(unit, budget, 0)
if state and string.sub(state, 1, 1) == "B" then return { MQRC.BACKED_OUT } end
if expected >= 0 and not (state and string.sub(state, 1, 1) == "C") then
    local found = state and redis.call("LLEN", unit) - 1 or 0
    if found ~= expected then
        -- A get that was sent after this call must find that it failed.
        if not state then redis.call("RPUSH", unit, "B" .. unit_id) end
        return { MQRC.BACKED_OUT }
    end
end
if not state or string.sub(state, 2) ~= unit_id then return nothing_left(own, caller) end

-- Of the messages with the CorrelId of one that has just come, removes all but the last. Returns how many: one, as a rule.
local REPLACED_MAX = 100
local function keep_last(queue, record)
    local correl, gone = identifier_offsets(record), {}
    if not correl then return 0 end
    local prefix = "C" .. string.sub(record, correl, correl + 23)
    local last = "(" .. prefix .. "\255"
    for _, entry in ipairs(redis.call("ZREVRANGEBYLEX", queue.i, last, "[" .. prefix, "LIMIT", 1, REPLACED_MAX)) do
        local score, id = struct.unpack(">I7", entry, #prefix + 1), string.sub(entry, #prefix + 1 + ORDER_BYTES)
        if id == "" then id = usual_id(score) end
        redis.call("ZREM", queue.a, id)
        look_after(queue, messages, expiry, -1, id, score, redis.call("HGET", messages, id))
        gone[#gone + 1] = id
    end
    if gone[1] then
        redis.call("HDEL", messages, unpack(gone))
        local ids_text = table.concat(gone, " ")
        journal(KEYS[7], ARGV[6], "e", "get", "o", caller, "q", queue.name, "u", "", "i", ids_text, "c", "1")
    end
    return #gone
end

journal(KEYS[7], ARGV[6], "e", "commit", "o", caller, "u", unit_id, "n", count, "r", caller == owner and "" or "1")
for _, operation in ipairs(operations) do
    local queue = queues[operation.queue]
    if operation.kind == "P" then
        local state, records = redis.call("HMGET", queue.q, "nw", "ev"), nil
        -- Most often all need it or none.
        if string.find(operation.ids_text, "x", 1, true) then
            records = redis.call("HMGET", messages, unpack(ids_of(operation)))
        end
        redis.call("HINCRBY", queue.q, "pu", -operation.count)
        local added, armed, replaced = added_of(operation), state[2], 0
        make_available(queue, messages, own, wake_base, expiry, tonumber(state[1] or 0), added, records)
        if operation.queue == CONST.RETAINED then
            for _, record in ipairs(records or {}) do replaced = replaced + keep_last(queue, record) end
        end
        -- The put has counted the message that came. This counts it as got, if it is handed to a waiting get.
        local went = (queue.handed or 0) + replaced
        if armed and went > 0 then INLINE.note(armed, queue.q, queue.a, queue.name, owner, 0, went, true) end
        if armed then INLINE.note_trigger(armed, queue.q, queue.a, queue.name, owner, added) end
        queue.handed = nil
    else
        redis.call("HINCRBY", queue.q, "gu", -operation.count)
        redis.call("HDEL", messages, unpack(ids_of(operation)))
    end
end

local left = drop_chunk(unit, #operations, "C" .. unit_id)
return { 0, left, count }
