--[[
structure/put.lua - MQPUT, MQPUT1: store messages on one queue, inside or outside a unit of work.

All of a batch or none: a full queue refuses the whole call. The caller has decided all that attributes decide, from the
definition of version `version`; another version in force stops the call before it did anything.

KEYS
  1 own, 2 sequence, 3 messages, 4 queue, 5 available, 6 index, 7 waiters, 8 unit
  9  versions      hash    what handles check: IGQ state, alias and remote definitions
  10 destinations, 11 expiry, 12 journal
  13 wake          base    keys that waiting connections block on
  14 groups        hash    what is there of groups; this and the next only where members of groups are put
  15 members
ARGV
  1  owner         owner token of the caller
  2  queue_name
  3  version       of the definition the caller decided by
  4  depth_max     MAXDEPTH; 999999999 is no limit
  5  journal_max   entries kept; "0" switches the journal off
  6  destination   "" or the queue an IGQ message goes to
  7  checks        number of (field, value) pairs that must stand in versions
  8..              the pairs; then unit_id, or "" outside a unit of work; the journal's text about the messages; then for each
                   message: score base, "" or "x", record
REPLY       { 0, number of the first message } | { 1, version, definition } stale | { reason }
REASONS     2009 CONNECTION_BROKEN | 2052 Q_DELETED | 2041 OBJECT_CHANGED | 2053 Q_FULL
INVARIANTS  1 one state, 2 fencing, 5 position
MEMORY      refused when Redis is full
RIGHTS      asked by structure/attach
COST        O(messages * log depth)
USES        place
]]
local sequence, messages, versions = KEYS[2], KEYS[3], KEYS[9]
local unit, destinations = KEYS[8], KEYS[10]
local owner, journal_max, destination, checks = ARGV[1], ARGV[5], ARGV[6], tonumber(ARGV[7])

if redis.call("HEXISTS", KEYS[1], owner) == 0 then return { MQRC.CONNECTION_BROKEN } end
local state = redis.call("HMGET", KEYS[4], "ver", "pu", "lk", "nw", "gm", "ev")
if not state[1] then return { MQRC.Q_DELETED } end
local at = 8
for _ = 1, checks do
    if (redis.call("HGET", versions, ARGV[at]) or "") ~= ARGV[at + 1] then return { MQRC.OBJECT_CHANGED } end
    at = at + 2
end
local unit_id, details = ARGV[at], ARGV[at + 1]
at = at + 2
if state[1] ~= ARGV[3] then return { 1, state[1], redis.call("HGET", KEYS[4], "def") } end

local count = (#ARGV - at + 1) / 3
if INLINE.is_full(ARGV[4], count, KEYS[5], state[2], state[3], state[5]) then
    if state[6] then INLINE.note_full(KEYS[4], ARGV[2], ARGV[1], ARGV[4]) end
    return { MQRC.Q_FULL }
end

local first = redis.call("INCRBY", sequence, count) - count + 1
local code = ""
if destination ~= "" then
    code = redis.call("HGET", destinations, destination)
    if not code then INLINE.make_code(code, destinations, destination) end
    code = "." .. code
end

local ids, scores, records, stored, is_long, is_run = {}, {}, {}, {}, false, true
-- No message expires or is a member of a group. For those that do, or are, the functions of the prelude are needed.
local is_simple, now = true, nil
local first_base = ARGV[at]
for position = 1, count do
    local base, look, record = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    at = at + 3
    local number = first + position - 1
    -- A third faster than to have Lua write the number by itself.
    local id = string.format("%d", number) .. code .. look
    local flags = string.byte(record)
    is_simple = is_simple and bit.band(flags, 18) == 0
    if bit.band(flags, 2) ~= 0 then
        -- The caller gave the time left; the record has the moment, by this server's clock.
        if not now then
            local time = redis.call("TIME")
            now = time[1] * 1000 + math.floor(time[2] / 1000)
        end
        local ends = struct.pack(">I8", now + struct.unpack(">I8", record, 6))
        record = string.sub(record, 1, 5) .. ends .. string.sub(record, 14)
    end
    is_long, is_run = is_long or #record > CONST.LONG, is_run and base == first_base
    ids[position], scores[position], records[position] = id, base + number, record
    stored[2 * position - 1], stored[2 * position] = id, record
end
-- A get that waits for the CorrelId of a lone message is handed it here, without functions: a reply to its request.
local after
if unit_id == "" and count == 1 and (state[4] or "0") ~= "0" then
    INLINE.take_waiter_by_correl(KEYS[4], KEYS[6], KEYS[7], records[1], after)
end
-- A message that is handed over outside a unit of work is not stored.
if not after or string.byte(after) == 43 then redis.call("HSET", messages, unpack(stored)) end
if is_long then redis.call("HSET", KEYS[4], "lg", 1) end

local ids_text, handed = table.concat(ids, " "), 0
INLINE.journal(KEYS[12], journal_max, "e", "put", "o", owner, "q", ARGV[2], "u", unit_id, "i", ids_text, "d", details)
if unit_id ~= "" then
    -- As prelude/unit_of_work has it. Of a run the first says all. The last one says nothing of those between: each may
    -- have its own priority.
    local written = {}
    for position = 1, is_run and 1 or count do written[position] = string.format("%.0f", scores[position]) end
    local operation = "P" .. count .. "\n" .. ARGV[2] .. "\n" .. ids_text .. "\n" .. table.concat(written, " ")
    if redis.call("RPUSH", unit, operation) == 1 then redis.call("LPUSH", unit, "A" .. unit_id) end
    redis.call("HINCRBY", KEYS[4], "pu", count)
else
    local added = {}
    for position, id in ipairs(ids) do added[2 * position - 1], added[2 * position] = scores[position], id end
    if after then
        local id, score, record, chosen = ids[1], string.format("%.0f", scores[1]), records[1], { "c", "1" }
        INLINE.hand(KEYS[1], KEYS[13], KEYS[4], ARGV[2], after, id, score, record, nil, KEYS[12], journal_max, chosen)
        handed = 1
    elseif is_simple and (state[4] or "0") == "0" then
        -- Nobody waits for it, so no function is needed.
        INLINE.make_simple_available(KEYS[5], KEYS[6], added, records)
    else
-- PRELUDE
        local queue = { name = ARGV[2], q = KEYS[4], a = KEYS[5], i = KEYS[6], w = KEYS[7], g = KEYS[14], r = KEYS[15] }
        queue.hand = { messages = messages, journal = KEYS[12], journal_max = journal_max }
        make_available(queue, messages, KEYS[1], KEYS[13], KEYS[11], tonumber(state[4] or 0), added, records)
        handed = queue.handed or 0
    end
    if state[6] then INLINE.note_trigger(state[6], KEYS[4], KEYS[5], ARGV[2], ARGV[1], added) end
end
if state[6] then INLINE.note(state[6], KEYS[4], KEYS[5], ARGV[2], ARGV[1], count, handed, true) end
return { 0, first }
