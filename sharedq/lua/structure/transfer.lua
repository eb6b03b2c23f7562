--[[
structure/transfer.lua - the IGQ agent's hop: move messages from the transmit queue's part of this structure to
their destination queues in this structure. One script is one batch: got, put and committed in one moment.

Only entries move; bodies stay where they are. What cannot be delivered here is left in place, reported, and
blocks what follows it to the same destination, so that nothing overtakes.

KEYS
  1  own        hash    registered owners (the fence)
  2  sequence   string  counter of arrivals
  3  messages   hash    message id -> record
  4  queue      hash    the transmit queue
  5  available  zset    its ids by score
  6  index      zset    its selection index
  7  expiry     zset    expiry times
  8  wake_base  base    keys that waiting connections block on
  9  journal    stream
  10 versions   hash    that of the authority records
  11.. for each destination: queue, available, index, waiters, groups, members
ARGV
  1  caller       owner token of the agent
  2  queue_name   of the transmit queue
  3  version      of its definition
  4  count        messages to move, at most
  5  journal_max
  6  is_fifo      1 when the transmit queue does not order by priority
  7  authorities  version of the authority records that the caller knows: with any, it moves nothing
  8.. for each destination: name, code, version, MAXDEPTH, score base; "" for priority order, "G" for that of
     a queue indexed by GroupId; longest body or 0
REPLY       { 0, moved, left, [codes of unknown destinations], [stale names], [blocked ids], [their reasons] }
            | { 1 } the transmit queue or the authority records changed | { reason }
REASONS     2009 CONNECTION_BROKEN | 2085 UNKNOWN_OBJECT_NAME | in the list: 2053 Q_FULL | 2030 MSG_TOO_BIG_FOR_Q
            | 2104 UNKNOWN_REPORT_OPTION (a report is asked for: deliver it call by call)
INVARIANTS  1 one state, 2 fencing, 4 bounded, 5 position, 8 once
COST        O(count * log depth)
USES        place, journal
]]
local own, sequence, messages, expiry, wake_base = KEYS[1], KEYS[2], KEYS[3], KEYS[7], KEYS[8]
local source = { name = ARGV[2], q = KEYS[4], a = KEYS[5], i = KEYS[6] }
local caller, count, is_fifo = ARGV[1], tonumber(ARGV[4]), ARGV[6] == "1"
local PRIORITY_STEP, REPORT = 2 ^ 48, 32
local CHANGED = 1

if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then return { MQRC.CONNECTION_BROKEN } end
local version, may_be_long, backed_out = unpack(redis.call("HMGET", source.q, "ver", "lg", "bo"))
if not version then return { MQRC.UNKNOWN_OBJECT_NAME } end
if version ~= ARGV[3] or (redis.call("HGET", KEYS[10], "AUT") or "") ~= ARGV[7] then return { CHANGED } end

-- The common case first, before any function is made: plain messages for one queue that nobody waits on, of one
-- priority. They go as one run; one by one (below) they cost three times as much.
local ids = not is_fifo and not backed_out and redis.call("ZRANGE", source.a, 0, count - 1) or {}
local run = #ids
local code = run > 0 and string.match(ids[1], "%.(%d+)$")
local at = 8
while code and ARGV[at] and ARGV[at + 1] ~= code do at = at + 6 end
if code and ARGV[at] and ARGV[at + 5] == "0" then
    local q, available = KEYS[at + 3], KEYS[at + 4]
    local state = redis.call("HMGET", q, "ver", "nw", "code", "lg", "pu", "lk", "gm")
    local room = tonumber(ARGV[at + 3])
    if room < 999999999 then
        room = room - redis.call("ZCARD", available) - (state[5] or 0) - (state[6] or 0) - (state[7] or 0)
    end
    local ends = redis.call("ZMSCORE", source.a, ids[1], ids[run])
    local base = ends[1] - ends[1] % PRIORITY_STEP
    local ids_text = table.concat(ids, " ")
    local _, fitting = string.gsub(ids_text .. " ", "%." .. code .. " ", "")
    if state[1] == ARGV[at + 2] and (state[2] or "0") == "0" and state[3] == code and run <= room
        and (state[4] or not may_be_long) and fitting == run and ends[2] - base < PRIORITY_STEP then
        redis.call("ZREMRANGEBYRANK", source.a, 0, run - 1)
        local arrival = (tonumber(ARGV[at + 4]) or base) + redis.call("INCRBY", sequence, run) - run
        local added = {}
        for position = 1, run do added[2 * position - 1], added[2 * position] = arrival + position, ids[position] end
        redis.call("ZADD", available, unpack(added))
        if ARGV[5] ~= "0" then
            redis.call("XADD", KEYS[9], "MAXLEN", "~", ARGV[5], "*",
                "e", "transfer", "o", caller, "q", source.name, "t", ARGV[at], "i", ids_text)
        end
        return { 0, run, redis.call("ZCARD", source.a), {}, {}, {}, {} }
    end
end
-- PRELUDE
local targets, stale = {}, {}
for position = 8, #ARGV, 6 do
    local key = 11 + (position - 8)
    local target = {
        name = ARGV[position], q = KEYS[key], a = KEYS[key + 1], i = KEYS[key + 2], w = KEYS[key + 3],
        g = KEYS[key + 4], r = KEYS[key + 5],
        base = tonumber(ARGV[position + 4]), lifts_groups = ARGV[position + 4] == "G",
        length_max = tonumber(ARGV[position + 5]),
        ids = {}, priorities = {}, records = {},
        hand = { messages = messages, journal = KEYS[9], journal_max = ARGV[5] },
    }
    local state = redis.call("HMGET", target.q, "ver", "pu", "lk", "nw", "code", "gm", "lg")
    if state[1] ~= ARGV[position + 2] then
        stale[#stale + 1] = target.name
    else
        local depth_max = tonumber(ARGV[position + 3])
        target.room = depth_max
        if depth_max < 999999999 then
            target.room = depth_max - redis.call("ZCARD", target.a) - (state[2] or 0) - (state[3] or 0) - (state[6] or 0)
        end
        target.waiting = tonumber(state[4] or 0)
        target.new_code = ARGV[position + 1] ~= "0" and state[5] ~= ARGV[position + 1] and ARGV[position + 1]
        target.learns_length = may_be_long and not state[7]
        targets[ARGV[position + 1]] = target
    end
end

-- Priorities 0 and 1 are not for what begins a group.
local LOWEST_OF_GROUPS = 7 * PRIORITY_STEP
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
        if needs_look(id) or is_fifo or backed_out then record = redis.call("HGET", messages, id) end
        if needs_look(id) and is_expired(record) then
            look_after(source, messages, expiry, -1, id, score, record)
            expired[#expired + 1] = id
            leaving[#leaving + 1] = id
        else
            if #target.ids >= target.room then
                reason = MQRC.Q_FULL
            elseif needs_look(id) and has(record, REPORT) then
                reason = MQRC.UNKNOWN_REPORT_OPTION
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
                    target.priorities[at] = (9 - string.byte(record, 2)) * PRIORITY_STEP
                else
                    target.priorities[at] = math.floor(score / PRIORITY_STEP) * PRIORITY_STEP
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
local arrival = moved > 0 and redis.call("INCRBY", sequence, moved) - moved or 0
for _, target in pairs(targets) do
    if #target.ids > 0 then
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
    end
end
if #expired > 0 then
    redis.call("HDEL", messages, unpack(expired))
    journal(KEYS[9], ARGV[5], "e", "expire", "o", caller, "q", source.name, "i", table.concat(expired, " "))
end
local left = redis.call("ZCARD", source.a)
if backed_out and left == 0 then redis.call("HDEL", source.q, "bo") end
return { 0, moved, left, unknown, stale, blocked, reasons }
