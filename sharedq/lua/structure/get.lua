--[[
structure/get.lua - MQGET that removes: take the first messages that fit, inside or outside a unit of work.

When nothing fits and the call may wait, the caller is registered as a waiter in the same moment, so that no
message can arrive unseen in between. A caller that comes back from its wait is taken off the waiters here.

A caller that goes on from one unit of work of gets to the next ends the one before here, too: then this is its MQCMIT,
whatever the get finds.

KEYS
  1 own, 2 messages, 3 queue, 4 available, 5 index, 6 waiters, 7 unit, 8 expiry, 9 wake, 10 journal,
  11 wake_base
  12.. where a unit of work is ended: for each queue it got from: queue
ARGV
  1  owner        owner token of the caller
  2  queue_name
  3  version      of the definition the caller decided by
  4  count        messages wanted, 1..100; 1..500 where no body is returned
  5  mode         0 outside, 1 inside the unit of work, 2 inside if persistent
  6  length_max   longest body the caller takes, bytes
  7  truncate     1: a longer body is cut and the message goes (2079), not cut if it asks for reports; 0: it stays (2080); 2: no body is returned, and
                  none is too long
  8  bytes_max    stop filling a batch after this many bytes; at least CONST.LONG a message wanted
  9  journal_max
  10.. where a unit of work is ended: names of the queues it got from, in the order of their keys; then, from FIRST on:
  1  unit_id      id of the unit of work, or ""
  2  wait         "" or the entry of its wait: wait when nothing fits. Before that "=": sent after a commit in the same
                  write, do nothing unless that has ended its unit of work; or "+": end that first. Then ".": the caller
                  blocks on its wake key in the same write, and a word there ends this unless it waits
  3  id, 4 number, 5 prefix, 6 msgid, 7 correl   the selection; absent for any message, and with "+":
  3  ended_id, 4 expected   the unit of work to end, and how many operations must be there, all of them gets
REPLY       { 0 | 2079 | 2080, length of the first body, ids, [records] } | { 1, version, definition } stale
            | { 2, "" } look again: only expired messages were found, or what it was handed is back
            | { 3 } members of groups are there, { 4 } marked messages: structure/get_grouped knows of them | { reason }
REASONS     2009 CONNECTION_BROKEN | 2052 Q_DELETED | 2033 NO_MSG_AVAILABLE | 2034 NO_MSG_UNDER_CURSOR
            | 2219 CALL_IN_PROGRESS | 2003 BACKED_OUT ("=" and "+" only: nothing was applied) | 2079 TRUNCATED_MSG_ACCEPTED | 2080 TRUNCATED_MSG_FAILED
INVARIANTS  1 one state, 2 fencing, 3 one decision, 5 position, 8 once
RIGHTS      asked by structure/attach
COST        O(count * log depth), and bytes_max of bodies, or one message; messages of the unit of work that it ends
USES        place, select, waiting, unit_of_work, journal
]]
local own, messages, unit = KEYS[1], KEYS[2], KEYS[7]
local owner, mode, length_max, journal_max = ARGV[1], ARGV[5], tonumber(ARGV[6]), ARGV[9]
local FIRST = #KEYS - 1
local unit_id, entry, asked_id, asked_number, asked_prefix, asked_msgid, asked_correl = unpack(ARGV, FIRST)
local STALE, LOOK_AGAIN, GROUPED, MARKED = 1, 2, 3, 4
local is_blind, after = ARGV[7] == "2", string.byte(entry)
local is_after, ends_first = after == 61, after == 43
if is_after or ends_first then entry = string.sub(entry, 2) end
local blocks = string.byte(entry) == 46
if blocks then entry = string.sub(entry, 2) end

local function answer()
    local waiting, state = redis.call("HGET", own, owner), redis.call("HMGET", KEYS[3], "ver", "gm", "mk", "lg", "ev")
    local version, may_be_long = state[1], state[4]
    if not waiting then return { MQRC.CONNECTION_BROKEN } end
    -- This getter was handed a message: either the message has arrived, or the wait ended before its arrival.
    local is_handed = string.byte(waiting) == 72
    if is_handed and not INLINE.is_on_its_way(KEYS[9]) then
        waiting, is_handed = "", false
    end
    -- Sent in one write after a commit, which failed or has chunks left: its unit of work is still there.
    local is_any = not asked_id
    if is_after and redis.call("EXISTS", unit) == 1 then return { MQRC.BACKED_OUT } end
    if ends_first then
        -- As structure/commit ends a unit of work of gets alone.
        is_any = true
        local ended_id, expected = asked_id, tonumber(asked_number)
        local elements, count = redis.call("LRANGE", unit, 0, expected + 1), 0
        if elements[1] ~= "A" .. ended_id or #elements ~= expected + 1 then return { MQRC.BACKED_OUT } end
        local keys = {}
        for key = 12, #KEYS do keys[ARGV[key - 2]] = KEYS[key] end
        for position = 2, #elements do
            local number, queue_name, ids_text = INLINE.gets_in(elements[position])
            redis.call("HINCRBY", keys[queue_name], "gu", -number)
            INLINE.remove_records(messages, ids_text)
            count = count + number
        end
        redis.call("DEL", unit)
        INLINE.journal(KEYS[10], journal_max, "e", "commit", "o", owner, "u", ended_id, "n", count, "r", "")
    end
    if not is_handed and version == ARGV[3] and ((state[2] or "0") ~= "0" or state[3]) then return { state[3] and MARKED or GROUPED } end

    -- How many to take: no more bodies are read than are returned. A batch without long ones never fills bytes_max.
    local wanted = ARGV[4]
    if may_be_long and wanted ~= "1" and is_any then
        local bytes = 0
        for position, id in ipairs(redis.call("ZRANGE", KEYS[4], 0, wanted - 1)) do
            bytes = bytes + redis.call("HSTRLEN", messages, id)
            if position > 1 and bytes > tonumber(ARGV[8]) then
                wanted = position - 1
                break
            end
        end
    end

    -- The common case first, before any function is made: messages that fit, from the front of the queue, all plain; or one with
    -- no more than identifiers, from there or by the index.
    local popped
    local prefix = not is_any and asked_id == "" and asked_number == "" and asked_prefix ~= "" and asked_prefix
    -- As prelude/place notes it: by which message, where others waited, too.
    local woken_by = waiting ~= "" and string.match(waiting, "^K[^\n]*\n(.+)$")
    local is_woken = waiting == "K" .. ARGV[2] .. (woken_by and "\n" .. woken_by or "")
    if version == ARGV[3] and (waiting == "" or is_woken) and (is_any or prefix) and mode ~= "2" then
        local ids, id, scores_text
        if prefix then
            INLINE.find_by_index(KEYS[5], prefix, 0, id, scores_text)
            ids = { id }
        elseif wanted == "1" then
            popped = redis.call("ZPOPMIN", KEYS[4])
            id, scores_text = popped[1], popped[2]
            ids = { id }
        else
            -- Two commands, yet half the work that ZPOPMIN has with fifty: most of that is writing scores.
            ids = redis.call("ZRANGE", KEYS[4], 0, wanted - 1)
        end
        local count, ids_text = #ids, table.concat(ids, " ")
        local is_looked_at = not is_blind and id and string.byte(id, -1) == 120
        if count > 0 and (is_looked_at or not string.find(ids_text, "x", 1, true)) then
            local records = is_blind and {} or redis.call("HMGET", messages, unpack(ids))
            -- A getter that takes another message than the one that woke it has to wake others for that one.
            local fit = not woken_by or string.find(" " .. ids_text .. " ", " " .. woken_by .. " ", 1, true)
            -- The message does not expire, and is in no group.
            if is_looked_at then fit = fit and bit.band(string.byte(records[1]), 18) == 0 end
            if not is_blind and (may_be_long or length_max < CONST.LONG) then
                for position = 1, count do fit = fit and #records[position] <= length_max end
            end
            if fit then
                if prefix then
                    redis.call("ZREM", KEYS[4], id)
                elseif not popped then
                    if mode ~= "0" then
                        -- No two scores are the same, so of a run the first says all.
                        local ends = redis.call("ZMSCORE", KEYS[4], ids[1], ids[count])
                        scores_text = ends[1]
                        if ends[2] - ends[1] ~= count - 1 then
                            scores_text = table.concat(redis.call("ZMSCORE", KEYS[4], unpack(ids)), " ")
                        end
                    end
                    redis.call("ZREMRANGEBYRANK", KEYS[4], 0, count - 1)
                end
                if is_looked_at then
                    local entries, score = {}, tonumber(scores_text)
                    INLINE.identifiers(entries, id, score, records[1])
                    if entries[1] then redis.call("ZREM", KEYS[5], unpack(entries)) end
                end
                if state[5] then INLINE.note(state[5], KEYS[3], KEYS[4], ARGV[2], owner, 0, count, true) end
                if is_woken then
                    redis.call("DEL", KEYS[9])
                    redis.call("HSET", own, owner, "")
                end
                if mode == "0" then
                    unit_id = ""
                    redis.call("HDEL", messages, unpack(ids))
                else
                    redis.call("HINCRBY", KEYS[3], "gu", count)
                    -- As prelude/unit_of_work has it; scores are whole numbers, and Redis writes them without an exponent.
                    local operation = "G" .. count .. "\n" .. ARGV[2] .. "\n" .. ids_text .. "\n" .. scores_text
                    if is_after or ends_first then
                        redis.call("RPUSH", unit, "A" .. unit_id, operation)
                    elseif redis.call("RPUSH", unit, operation) == 1 then
                        redis.call("LPUSH", unit, "A" .. unit_id)
                    end
                end
                INLINE.journal(KEYS[10], journal_max, "e", "get", "o", owner, "q", ARGV[2], "u", unit_id, "i", ids_text,
                    unpack(is_any and {} or { "c", "1" }))
                if is_blind then return { 0, 0, ids_text, records } end
                local _, _, _, high, low = string.byte(records[1], 1, 5)
                return { 0, #records[1] - high * 256 - low, ids_text, records }
            end
        elseif count == 0 and (prefix and waiting == "" or is_any and not may_be_long) then
            if is_woken then redis.call("DEL", KEYS[9]) end
            if entry ~= "" then
                INLINE.register(KEYS[6], KEYS[3], own, owner, ARGV[2], entry)
            elseif is_woken then
                redis.call("HSET", own, owner, "")
            end
            return { MQRC.NO_MSG_AVAILABLE }
        end
    end
-- PRELUDE
    local expiry = KEYS[8]
    local queue = { name = ARGV[2], q = KEYS[3], a = KEYS[4], i = KEYS[5], w = KEYS[6] }
    local truncate, bytes_max = ARGV[7] == "1", tonumber(ARGV[8])
    local selection = { id = "", number = "", prefix = "", msgid = "", correl = "" }
    if not is_any then
        selection = { id = asked_id, number = asked_number, prefix = asked_prefix }
        selection.msgid, selection.correl = asked_msgid, asked_correl
    end
    if is_handed then
        if waiting ~= "H" .. queue.name then return { MQRC.CALL_IN_PROGRESS } end
        local id, record = take_arrived(own, owner, KEYS[9])
        if id then return { 0, #record - body_offset(record), id, { record } } end
        queue.hand = { messages = messages, journal = KEYS[10], journal_max = journal_max }
        -- From now on the returned message counts as woken_by: if the getter takes another one, it must wake others for this one.
        local returned = take_back(queue, owner, KEYS[9])
        redis.call("HSET", own, owner, returned and "K" .. queue.name .. "\n" .. returned or "")
        return { LOOK_AGAIN, "" }
    end
    -- A woken caller owes the queue a look, and stays noted until it has looked: its recovery passes the wake-up on.
    if version and version ~= ARGV[3] then return { STALE, version, redis.call("HGET", queue.q, "def") } end
    if waiting ~= "" and stop_waiting(queue, own, owner, waiting, KEYS[9]) then return { MQRC.CALL_IN_PROGRESS } end
    if not version then return { MQRC.Q_DELETED } end

    -- Taken off the available set first: messages that are not kept go back to the same place below.
    local ids, scores, records = {}, {}, {}
    if selection.prefix == "" and selection.id == "" then
        popped = popped or redis.call("ZPOPMIN", queue.a, wanted)
        for position = 1, #popped / 2 do
            ids[position], scores[position] = popped[2 * position - 1], tonumber(popped[2 * position])
        end
        if #ids == 1 then
            records[1] = redis.call("HGET", messages, ids[1])
        elseif #ids > 1 then
            records = redis.call("HMGET", messages, unpack(ids))
        end
    else
        ids[1], scores[1], records[1] = find(queue, messages, selection, 0)
        if ids[1] then redis.call("ZREM", queue.a, ids[1]) end
    end

    if #ids == 0 then
        if selection.id ~= "" then return { MQRC.NO_MSG_UNDER_CURSOR } end
        -- Woken by a message that does not fit after all (a MsgId names it, its CorrelId is another one).
        if string.sub(waiting, 1, 1) == "K" and selection.prefix ~= "" and redis.call("ZCARD", queue.a) > 0 then
            -- A getter that waits by the number of a message may ask for a CorrelId too, and the next one for another.
            local mine = selection.number ~= "" and "N" .. selection.number .. " " .. owner or ""
            pass_on(queue, messages, own, KEYS[11], mine, woken_by)
        end
        if entry ~= "" then start_waiting(queue, own, owner, entry) end
        if may_be_long and selection.prefix == "" then
            -- Nothing is left that could come back, either.
            local away = redis.call("HMGET", queue.q, "pu", "gu", "lk")
            if (away[1] or 0) + (away[2] or 0) + (away[3] or 0) == 0 then redis.call("HDEL", queue.q, "lg") end
        end
        return { MQRC.NO_MSG_AVAILABLE }
    end

    local reply, returned, cut = { 0, 0 }, {}, {}
    local gone, kept, kept_scores, expired, dead, bytes, stop_at = {}, {}, {}, {}, 0, 0, #ids + 1
    for position, id in ipairs(ids) do
        local record, score = records[position], scores[position]
        local length = #record - body_offset(record)
        if needs_look(id) and is_expired(record) then
            dead = dead + 1
            if end_expired(queue, messages, expiry, id, score, record) then expired[#expired + 1] = id end
        elseif is_blind and needs_look(id) and has(record, REPORT) then
            -- A getter that takes it unseen would not see that it asks for a report.
            stop_at = position
            break
        elseif #returned > 0 and (length > length_max or bytes + length > bytes_max) then
            stop_at = position
            break
        else
            if #returned == 0 then reply[2] = length end
            if length > length_max then
                reply[1] = truncate and MQRC.TRUNCATED_MSG_ACCEPTED or MQRC.TRUNCATED_MSG_FAILED
            end
            returned[#returned + 1] = id
            -- A report about the delivery has more of the data than the program, perhaps.
            local is_cut = length > length_max and not (truncate and has(record, REPORT))
            cut[#cut + 1] = is_cut and string.sub(record, 1, body_offset(record) + length_max) or record
            if length > length_max and not truncate then
                stop_at = position
                break
            end
            bytes = bytes + length
            if needs_look(id) then look_after(queue, messages, expiry, -1, id, score, record) end
            if mode == "1" or (mode == "2" and has(record, PERSISTENT)) then
                kept[#kept + 1] = id
                kept_scores[#kept] = string.format("%.0f", score)
            else
                gone[#gone + 1] = id
            end
            if length > length_max then
                stop_at = position + 1
                break
            end
        end
    end

    local back = {}
    for position = stop_at, #ids do
        back[#back + 1] = scores[position]
        back[#back + 1] = ids[position]
    end
    if #back > 0 then
        redis.call("ZADD", queue.a, unpack(back))
        -- A woken getter whose buffer is too small leaves the message to the other waiters.
        if waiting ~= "" and reply[1] == MQRC.TRUNCATED_MSG_FAILED then
            if tonumber(redis.call("HGET", queue.q, "nw") or 0) > 0 then
                wake_for(queue, own, KEYS[11], ids[stop_at], records[stop_at])
            end
        end
    end
    local chosen = is_any and {} or { "c", "1" }
    if #gone > 0 then
        redis.call("HDEL", messages, unpack(gone))
        journal(KEYS[10], journal_max, "e", "get", "o", owner, "q", queue.name, "i", table.concat(gone, " "), unpack(chosen))
    end
    if #kept > 0 then
        redis.call("HINCRBY", queue.q, "gu", #kept)
        record_operation(unit, unit_id, "G", queue.name, kept, kept_scores)
        journal(KEYS[10], journal_max, "e", "get", "o", owner, "q", queue.name, "u", unit_id, "i", table.concat(kept, " "),
            unpack(chosen))
    end
    local went, is_call = #gone + #kept, true
    if went == 0 then went, is_call = dead, false end
    if state[5] and went > 0 then INLINE.note(state[5], queue.q, queue.a, queue.name, owner, 0, went, is_call) end
    if #expired > 0 then
        redis.call("HDEL", messages, unpack(expired))
        journal(KEYS[10], journal_max, "e", "expire", "o", owner, "q", queue.name, "i", table.concat(expired, " "))
    end
    if dead > 0 and #returned == 0 then
        -- Not served yet: a caller that dies before it looks again leaves the wake-up to its recovery.
        if waiting ~= "" then redis.call("HSET", own, owner, string.byte(waiting) == 75 and waiting or "K" .. queue.name) end
        return { LOOK_AGAIN, "" }
    end
    -- The one whose body was too long has been told to others above.
    if woken_by and woken_by ~= ids[stop_at] and redis.call("ZSCORE", queue.a, woken_by) then
        wake_for_what_is_left(queue, messages, own, KEYS[11], woken_by)
    end
    reply[3], reply[4] = table.concat(returned, " "), is_blind and {} or cut
    return reply
end

local reply = answer()
if blocks then INLINE.end_block(KEYS[9], reply) end
return reply
