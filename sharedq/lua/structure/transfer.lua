--[[
structure/transfer.lua - the IGQ agent's hop: move messages from the transmit queue's part of this structure to
their destination queues in this structure. One script is one batch: got, put and committed in one moment.

Only entries move; bodies stay where they are. A message that cannot be delivered here is left in place, reported, and
blocks those that follow it to the same destination, so that nothing overtakes.

An agent that finds nothing waits for a message as a get does, and moves it in the call that ends its wait. It says what
it moves without reading it (`mv`): a put of a message that a get waits for moves that for it (structure/put_plain).

KEYS
  1 own, 2 sequence, 3 messages
  4  queue      hash    the transmit queue
  5 available, 6 index, 7 expiry, 8 wake_base, 9 journal
  10 versions   hash    that of the authority records
  11 waiters    zset    who waits on the transmit queue
  12 wake
  13.. for each destination: queue, available, index, waiters, groups, members
ARGV
  1  caller       owner token of the agent
  2  queue_name   of the transmit queue
  3  version      of its definition
  4  count        messages to move, at most
  5  journal_max
  6  is_fifo      1 when the transmit queue does not order by priority
  7  authorities  version of the authority records that the caller knows: with any, it moves nothing
  8  wait         "" or the entry of its wait: wait when there is nothing
  9  moves        lines of destinations that a put may move a message to while it waits: code, version ("~" before it
                  where no persistent message may come), score base
  10.. for each destination: name, code, version, MAXDEPTH, score base; "" for priority order, "G" for that of
     a queue indexed by GroupId; longest body or 0; -1 - longest body where no persistent message may come
REPLY       { 0, moved, left, [codes of unknown destinations], [stale names], [blocked ids], [their reasons],
            [codes of destinations that something was moved to] }
            | { 2033, moved } | { 1 } the transmit queue or the authority records changed | { reason }
            `moved` counts also what puts have moved meanwhile
REASONS     2009 CONNECTION_BROKEN | 2085 UNKNOWN_OBJECT_NAME | 2033 NO_MSG_AVAILABLE (it waits now) | 2219 CALL_IN_PROGRESS
            | in the list: 2053 Q_FULL | 2030 MSG_TOO_BIG_FOR_Q | 2048 PERSISTENT_NOT_ALLOWED
            | 2104 UNKNOWN_REPORT_OPTION (a report is asked for: deliver it call by call)
INVARIANTS  1 one state, 2 fencing, 4 bounded, 5 position, 8 once
RIGHTS      asked by structure/attach
COST        O(count * log depth)
USES        place, waiting, journal
]]
local own, sequence, messages, expiry, wake_base = KEYS[1], KEYS[2], KEYS[3], KEYS[7], KEYS[8]
local source = { name = ARGV[2], q = KEYS[4], a = KEYS[5], i = KEYS[6], w = KEYS[11] }
local caller, count, is_fifo = ARGV[1], tonumber(ARGV[4]), ARGV[6] == "1"
local CHANGED, FIRST_KEY, FIRST_ARGUMENT = 1, 13, 10

local waiting = redis.call("HGET", own, caller)
if not waiting then return { MQRC.CONNECTION_BROKEN } end
local version, may_be_long, backed_out, by_puts = unpack(redis.call("HMGET", source.q, "ver", "lg", "bo", "mvd"))
if not version then return { MQRC.UNKNOWN_OBJECT_NAME } end
-- A woken agent owes the queue a look, and stays noted until it has looked: its recovery passes the wake-up on.
if version ~= ARGV[3] or (redis.call("HGET", KEYS[10], "AUT") or "") ~= ARGV[7] then return { CHANGED } end

if by_puts then redis.call("HDEL", source.q, "mvd") end
by_puts = by_puts or 0

-- The common case first, before any function is made: plain messages for queues that nobody waits on, or a lone get of
-- any message. They go as a run for each queue; one by one (below) they cost three times as much.
local is_woken, runs = waiting == "K" .. source.name, {}
local ids = (waiting == "" or is_woken) and not is_fifo and not backed_out
    and redis.call("ZRANGE", source.a, 0, count - 1) or {}
local all = #ids
local ids_text, code = table.concat(ids, " "), all > 0 and string.match(ids[1], "%.(%d+)$")
if code then
    -- Counted in their text: to ask each id costs more.
    local text, mark, fitting, at, till = ids_text .. " ", "." .. code .. " ", -1, nil, 0
    repeat
        at, till = string.find(text, mark, till + 1, true)
        fitting = fitting + 1
    until not at
    if fitting == all then
        runs[1] = { code = code, ids = ids, ids_text = ids_text }
    else
        local by_code, find, sub = {}, string.find, string.sub
        for _, id in ipairs(ids) do
            local dot = find(id, ".", 1, true)
            if not dot then
                runs = {}
                break
            end
            -- With the "x" of a message that has to be looked at, it is no destination's code.
            code = sub(id, dot + 1)
            local run = by_code[code]
            if not run then
                run = { code = code, ids = {}, count = 0 }
                by_code[code], runs[#runs + 1] = run, run
            end
            run.count = run.count + 1
            run.ids[run.count] = id
        end
    end
end
local is_all = #runs > 0
for _, run in ipairs(runs) do
    local at = FIRST_ARGUMENT
    while ARGV[at] and ARGV[at + 1] ~= run.code do at = at + 6 end
    -- Nothing that has to be measured.
    is_all = ARGV[at] and ARGV[at + 5] == "0"
    if not is_all then break end
    local key = FIRST_KEY + at - FIRST_ARGUMENT
    run.name, run.base, run.q, run.a, run.w = ARGV[at], tonumber(ARGV[at + 4]), KEYS[key], KEYS[key + 1], KEYS[key + 3]
    local state = redis.call("HMGET", run.q, "ver", "nw", "code", "lg", "pu", "lk", "gm", "mk", "al", "ev")
    run.armed = state[10]
    local is_full = INLINE.is_full(ARGV[at + 3], #run.ids, run.a, state[5], state[6], state[7])
    is_all = state[1] == ARGV[at + 2] and state[3] == run.code and not is_full and (state[4] or not may_be_long)
    if is_all and state[2] == "1" then
        -- A lone message is handed over. Of several, the waiter takes its own.
        if all == 1 and not (may_be_long or state[4]) then
            local after
            INLINE.take_lone_waiter(run.a, run.w, state[7], state[8], state[9], after)
            run.after = after
        end
        local waiter = not run.after and redis.call("ZRANGE", run.w, 0, 0)[1]
        local itself = waiter and string.byte(waiter) == 65 and string.sub(waiter, 2)
        run.waiter = itself and (all > 1 or not INLINE.is_to_be_handed(itself)) and waiter
        is_all = run.after or run.waiter
    else
        is_all = is_all and (state[2] or "0") == "0"
    end
    if not is_all then break end
end
if is_all then
    local ends = redis.call("ZMSCORE", source.a, ids[1], ids[all])
    local base = ends[1] - ends[1] % CONST.PRIORITY_STEP
    -- In order of their scores, so what is the priority of the first and of the last is that of all.
    if ends[2] - base >= CONST.PRIORITY_STEP then
        for _, run in ipairs(runs) do
            run.scores = not run.base and redis.call("ZMSCORE", source.a, unpack(run.ids))
        end
    end
    if is_woken then
        redis.call("DEL", KEYS[12])
        redis.call("HSET", own, caller, "")
    end
    redis.call("ZREMRANGEBYRANK", source.a, 0, all - 1)
    local arrival, used = redis.call("INCRBY", sequence, all) - all, {}
    for position, run in ipairs(runs) do
        local added, scores, its_base = {}, run.scores, run.base or base
        used[position] = run.code
        for position, id in ipairs(run.ids) do
            if scores then its_base = scores[position] - scores[position] % CONST.PRIORITY_STEP end
            added[2 * position - 1], added[2 * position] = its_base + arrival + position, id
        end
        arrival = arrival + #run.ids
        if not run.after then redis.call("ZADD", run.a, unpack(added)) end
        if run.armed then
            local came, went = #run.ids, run.after and 1 or 0
            INLINE.note(run.armed, run.q, run.a, run.name, caller, came, went, true)
            INLINE.note_trigger(run.armed, run.q, run.a, run.name, caller, added)
        end
        INLINE.journal(KEYS[9], ARGV[5], "e", "transfer", "o", caller, "q", source.name, "t", run.name,
            "i", run.ids_text or table.concat(run.ids, " "))
        if run.after then
            local id, q, name, after = run.ids[1], run.q, run.name, run.after
            local record, score = redis.call("HGET", messages, id), string.format("%.0f", added[1])
            INLINE.hand(own, wake_base, q, name, after, id, score, record, messages, KEYS[9], ARGV[5], {})
        elseif run.waiter then
            local itself = string.sub(run.waiter, 2)
            redis.call("ZREM", run.w, run.waiter)
            INLINE.wake_lone(own, wake_base, run.q, run.name, INLINE.token_in(itself))
        end
    end
    return { 0, all + by_puts, redis.call("ZCARD", source.a), {}, {}, {}, {}, used }
end
-- PRELUDE
if waiting ~= "" and stop_waiting(source, own, caller, waiting, KEYS[12]) then return { MQRC.CALL_IN_PROGRESS } end
local targets, stale = {}, {}
for position = FIRST_ARGUMENT, #ARGV, 6 do
    local key = FIRST_KEY + position - FIRST_ARGUMENT
    local target = {
        name = ARGV[position], q = KEYS[key], a = KEYS[key + 1], i = KEYS[key + 2], w = KEYS[key + 3],
        g = KEYS[key + 4], r = KEYS[key + 5],
        base = tonumber(ARGV[position + 4]), lifts_groups = ARGV[position + 4] == "G",
        length_max = tonumber(ARGV[position + 5]), is_temporary = tonumber(ARGV[position + 5]) < 0,
        ids = {}, priorities = {}, records = {},
        hand = { messages = messages, journal = KEYS[9], journal_max = ARGV[5] },
    }
    if target.is_temporary then target.length_max = -1 - target.length_max end
    local state = redis.call("HMGET", target.q, "ver", "pu", "lk", "nw", "code", "gm", "lg", "ev")
    if state[1] ~= ARGV[position + 2] then
        stale[#stale + 1] = target.name
    else
        target.room = tonumber(ARGV[position + 3])
        if ARGV[position + 3] ~= CONST.NO_DEPTH_LIMIT then
            target.room = target.room - INLINE.depth(target.a, state[2], state[3], state[6])
        end
        target.armed, target.waiting = state[8], tonumber(state[4] or 0)
        target.new_code = ARGV[position + 1] ~= "0" and state[5] ~= ARGV[position + 1] and ARGV[position + 1]
        target.learns_length = may_be_long and not state[7]
        targets[ARGV[position + 1]] = target
    end
end

-- Priorities 0 and 1 are not for what begins a group.
local LOWEST_OF_GROUPS = 7 * CONST.PRIORITY_STEP
local function begins_group(record)
    if not has(record, GROUP) then return false end
    local _, _, at = identifier_offsets(record)
    local seq, offset, flags = struct.unpack(">I4I4I4", record, at + 24)
    return seq == 1 and offset == 0 and bit.band(flags, IN_GROUP + LAST_IN_GROUP) ~= 0
end

local unknown, blocked, reasons, is_blocked, expired = {}, {}, {}, {}, {}
local leaving, moved = {}, 0
local entries = redis.call("ZRANGE", source.a, 0, count - 1, "WITHSCORES")
for position = 1, #entries, 2 do
    local id, score = entries[position], tonumber(entries[position + 1])
    local code = string.match(id, "%.(%d+)") or "0"
    local target, reason, record = targets[code], nil, nil
    if not target then
        if not is_blocked[code] then unknown[#unknown + 1] = code end
        is_blocked[code] = true
    elseif not is_blocked[code] then
        if needs_look(id) or is_fifo or backed_out or target.is_temporary then record = redis.call("HGET", messages, id) end
        if needs_look(id) and is_expired(record) then
            if end_expired(source, messages, expiry, id, score, record) then expired[#expired + 1] = id end
            leaving[#leaving + 1] = id
        else
            if #target.ids >= target.room then
                reason = MQRC.Q_FULL
            elseif needs_look(id) and has(record, REPORT) then
                reason = MQRC.UNKNOWN_REPORT_OPTION
            elseif target.is_temporary and has(record, PERSISTENT) then
                reason = MQRC.PERSISTENT_NOT_ALLOWED
            elseif target.length_max > 0 and redis.call("HSTRLEN", messages, id) > target.length_max then
                record = record or redis.call("HGET", messages, id)
                if #record - body_offset(record) > target.length_max then reason = MQRC.MSG_TOO_BIG_FOR_Q end
            end
            if reason then
                blocked[#blocked + 1], reasons[#reasons + 1], is_blocked[code] = id, reason, true
            else
                if backed_out and string.byte(record, 3) > 0 then
                    -- On its destination it is a new message.
                    record = string.sub(record, 1, 2) .. "\0" .. string.sub(record, 4)
                    redis.call("HSET", messages, id, record)
                end
                local at = #target.ids + 1
                target.ids[at], target.records[at] = id, record or false
                if is_fifo then
                    target.priorities[at] = (9 - string.byte(record, 2)) * CONST.PRIORITY_STEP
                else
                    target.priorities[at] = math.floor(score / CONST.PRIORITY_STEP) * CONST.PRIORITY_STEP
                end
                if target.lifts_groups and target.priorities[at] > LOWEST_OF_GROUPS and needs_look(id)
                    and begins_group(record) then
                    target.priorities[at] = LOWEST_OF_GROUPS
                end
                if needs_look(id) then look_after(source, messages, expiry, -1, id, score, record) end
                leaving[#leaving + 1] = id
                moved = moved + 1
            end
        end
    end
end

if #leaving > 0 then redis.call("ZREM", source.a, unpack(leaving)) end
local arrival, used = moved > 0 and redis.call("INCRBY", sequence, moved) - moved or 0, {}
for code, target in pairs(targets) do
    if #target.ids > 0 then
        used[#used + 1] = code
        local added = {}
        for at, id in ipairs(target.ids) do
            arrival = arrival + 1
            added[2 * at - 1], added[2 * at] = (target.base or target.priorities[at]) + arrival, id
        end
        -- A get by MsgId finds messages that came this way by the code in their ids.
        if target.learns_length then redis.call("HSET", target.q, "lg", 1) end
        if target.new_code then redis.call("HSET", target.q, "code", target.new_code) end
        journal(KEYS[9], ARGV[5], "e", "transfer", "o", caller, "q", source.name, "t", target.name,
            "i", table.concat(target.ids, " "))
        make_available(target, messages, own, wake_base, expiry, target.waiting, added, target.records)
        if target.armed then
            local came, went = #target.ids, target.handed or 0
            INLINE.note(target.armed, target.q, target.a, target.name, caller, came, went, true)
            INLINE.note_trigger(target.armed, target.q, target.a, target.name, caller, added)
        end
    end
end
if #expired > 0 then
    redis.call("HDEL", messages, unpack(expired))
    journal(KEYS[9], ARGV[5], "e", "expire", "o", caller, "q", source.name, "i", table.concat(expired, " "))
end
local left = redis.call("ZCARD", source.a)
if backed_out and left == 0 then redis.call("HDEL", source.q, "bo") end
if #entries == 0 and ARGV[8] ~= "" then
    start_waiting(source, own, caller, ARGV[8])
    redis.call("HSET", source.q, "mv", caller .. " " .. ARGV[3] .. " " .. ARGV[7] .. "\n" .. (is_fifo and "" or ARGV[9]))
    return { MQRC.NO_MSG_AVAILABLE, by_puts + 0 }
end
return { 0, moved + by_puts, left, unknown, stale, blocked, reasons, used }
