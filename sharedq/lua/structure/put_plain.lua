--[[
structure/put_plain.lua - MQPUT of plain messages, outside a unit of work or as the whole of one.

The common case of structure/put, for fewer keys and arguments (each costs a call 0.1 us) and without what plain
messages need not: their ids need no look. All of a batch or none.

A lone message for another manager whose agent waits, and for whose destination a get waits, too, hops here: it is put,
moved and got in one moment, by what the agent said when it began to wait (see structure/transfer). The agent sleeps on.

KEYS
  1 own, 2 sequence, 3 messages, 4 queue, 5 available, 6 waiters, 7 wake_base
  8  journal    stream  only where the journal is on, or there is a next key
  9  versions      hash  what the handle checks; only where it checks anything
  10 destinations  hash  destination codes; only for another manager
  11 target           hash  the destination's queue, should it be in this structure
  12 target_available zset  its ids by score
  13 target_waiters   zset  its waiting gets
ARGV
  1  owner        owner token of the caller
  2  queue_name
  3  version      of the definition the caller decided by
  4  depth_max    MAXDEPTH; 999999999 is no limit
  5  journal_max, 6 details: only with the key of the journal
  7  destination or "", 8 how many (field, value) pairs must stand in versions, and these: only with that key
  .. score base of all messages; a record for each of them
REPLY       { 0, number of the first message, 1 if a lone get waited for any message } | { 1, version, definition } stale
            | { reason }
REASONS     2009 CONNECTION_BROKEN | 2052 Q_DELETED | 2041 OBJECT_CHANGED | 2053 Q_FULL
INVARIANTS  1 one state, 2 fencing, 5 position
MEMORY      refused when Redis is full
RIGHTS      asked by structure/attach
COST        O(messages * log depth)
USES        place
]]
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then return { MQRC.CONNECTION_BROKEN } end
local state = redis.call("HMGET", KEYS[4], "ver", "nw", "pu", "lk", "gm", "mk", "al", "ev")
local journal, code, at = KEYS[8], nil, KEYS[8] and 7 or 5
if KEYS[9] and state[1] then
    at = 9 + 2 * ARGV[8]
    for field = 9, at - 1, 2 do
        if (redis.call("HGET", KEYS[9], ARGV[field]) or "") ~= ARGV[field + 1] then return { MQRC.OBJECT_CHANGED } end
    end
    if ARGV[5] == "0" then journal = nil end
end
if state[1] ~= ARGV[3] then
    if not state[1] then return { MQRC.Q_DELETED } end
    return { 1, state[1], redis.call("HGET", KEYS[4], "def") }
end
local count, base = #ARGV - at, ARGV[at]
if INLINE.is_full(ARGV[4], count, KEYS[5], state[3], state[4], state[5]) then
    if state[8] then INLINE.note_full(KEYS[4], ARGV[2], ARGV[1], ARGV[4]) end
    return { MQRC.Q_FULL }
end

if KEYS[10] then
    code = redis.call("HGET", KEYS[10], ARGV[7])
    if not code then INLINE.make_code(code, KEYS[10], ARGV[7]) end
    code = "." .. code
end
-- A lone get that waits for any message is served as prelude/place does it, but without making its functions: this is
-- the time between a request and its answer. A message that it is handed outside a unit of work need not be stored.
local token, handed
if state[2] == "1" then
    local is_lone, after = count == 1 and #ARGV[at + 1] <= CONST.LONG, nil
    if is_lone and not KEYS[10] then
        INLINE.take_lone_waiter(KEYS[5], KEYS[6], state[5], state[6], state[7], after)
        handed = after and { after = after, name = ARGV[2], q = KEYS[4], base = base }
    end
    local found = not handed and redis.call("ZRANGE", KEYS[6], 0, 0)[1]
    local itself = found and string.byte(found) == 65 and string.sub(found, 2)
    token = itself and INLINE.token_in(itself)
    if token and KEYS[10] and is_lone and INLINE.is_first(KEYS[5], state[5], state[6], state[7]) then
        -- The agent's word counts for its own wait, for the definition of its queue and for the authority records.
        local said = redis.call("HGET", KEYS[4], "mv") or ""
        local head = token .. " " .. state[1] .. " " .. (redis.call("HGET", KEYS[9], "AUT") or "") .. "\n"
        local is_said, version, its_base = string.sub(said, 1, #head) == head, nil, nil
        if is_said then
            -- The flag PERSISTENT of its record: then what is said of temporary queues ("~") names no version.
            local may_be = string.byte(ARGV[at + 1]) % 2 == 0 and " ~?" or " "
            version, its_base = string.match(said, "\n" .. string.sub(code, 2) .. may_be .. "(%S+) (%S*)\n")
        end
        local there = version
            and redis.call("HMGET", KEYS[11], "ver", "nw", "code", "gm", "pu", "lk", "mk", "al", "lg", "ev")
        -- Nothing is on it, whatever its MAXDEPTH counts.
        if there and there[1] == version and there[2] == "1" and there[3] == string.sub(code, 2)
            and (there[5] or "0") == "0" and (there[6] or "0") == "0" and not there[9] then
            INLINE.take_lone_waiter(KEYS[12], KEYS[13], there[4], there[7], there[8], after)
            if after then
                its_base = its_base ~= "" and its_base or base
                handed = { after = after, name = ARGV[7], q = KEYS[11], base = its_base, by = token }
                state[8] = there[10]
            end
        end
    end
end

local first, ids, is_long = redis.call("INCRBY", KEYS[2], count) - count + 1, nil, nil
if handed then
    ids = code and first .. code or first
    if string.byte(handed.after) == 43 then redis.call("HSET", KEYS[3], ids, ARGV[at + 1]) end
elseif count == 1 then
    ids, is_long = code and first .. code or first, #ARGV[at + 1] > CONST.LONG
    redis.call("HSET", KEYS[3], ids, ARGV[at + 1])
    redis.call("ZADD", KEYS[5], base + first, ids)
else
    local stored, added, number = {}, {}, first
    base = tonumber(base)
    for place = 1, 2 * count, 2 do
        at = at + 1
        local record = ARGV[at]
        local id = code and number .. code or number
        stored[place], stored[place + 1] = id, record
        added[place], added[place + 1] = base + number, id
        is_long = is_long or #record > CONST.LONG
        number = number + 1
    end
    redis.call("HSET", KEYS[3], unpack(stored))
    redis.call("ZADD", KEYS[5], unpack(added))
end
if is_long then redis.call("HSET", KEYS[4], "lg", 1) end
if journal then
    if count > 1 then
        ids = {}
        for position = 1, count do ids[position] = first + position - 1 .. (code or "") end
        ids = table.concat(ids, " ")
    end
    INLINE.entry(journal, ARGV[5], "e", "put", "o", ARGV[1], "q", ARGV[2], "u", "", "i", ids, "d", ARGV[6])
end
local lone, went = nil, 0
if handed then
    if handed.by then
        redis.call("HINCRBY", KEYS[4], "mvd", 1)
        if journal then
            INLINE.entry(journal, ARGV[5], "e", "transfer", "o", handed.by, "q", ARGV[2], "t", handed.name, "i", ids)
        end
    end
    local q, name, after, score = handed.q, handed.name, handed.after, string.format("%.0f", handed.base + first)
    local record, limit = ARGV[at + 1], journal and ARGV[5] or "0"
    INLINE.hand(KEYS[1], KEYS[7], q, name, after, ids, score, record, nil, journal, limit, {})
    lone, went = 1, 1
elseif token then
    redis.call("ZPOPMIN", KEYS[6])
    INLINE.wake_lone(KEYS[1], KEYS[7], KEYS[4], ARGV[2], token)
    lone = 1
elseif (state[2] or "0") ~= "0" then
-- PRELUDE
    local queue = { name = ARGV[2], q = KEYS[4], a = KEYS[5], w = KEYS[6] }
    queue.hand = { messages = KEYS[3], journal = KEYS[8], journal_max = KEYS[8] and ARGV[5] or "0" }
    local waiting = tonumber(state[2])
    for number = first, first + count - 1 do
        if waiting > 0 then waiting = waiting - wake_for(queue, KEYS[1], KEYS[7], number .. (code or ""), "") end
    end
    went = queue.handed or 0
end
-- After the hand-over: a message that is got already neither fills the queue nor starts a program. A hop counts as the agent's.
if state[8] then
    local q, a, name, owner = KEYS[4], KEYS[5], ARGV[2], ARGV[1]
    if handed and handed.by then q, a, name, owner, base = KEYS[11], KEYS[12], ARGV[7], handed.by, handed.base end
    INLINE.note(state[8], q, a, name, owner, count, went, true)
    local arrived = {}
    for place = 1, 2 * count, 2 do arrived[place], arrived[place + 1] = base + first, first end
    INLINE.note_trigger(state[8], q, a, name, owner, arrived)
end
return { 0, first, lone }
