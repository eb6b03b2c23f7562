--[[
structure/backout.lua - MQBACK in one structure: undo what the unit of work recorded there, a chunk at a time.

Puts vanish; gets return to the place they had, with BackoutCount raised. A peer does the same for a dead owner. To raise
the count is to write the message again, so a chunk ends by bytes too.

What was got with MQGMO_MARK_SKIP_BACKOUT stays got where its own program asks for that: with the last chunk it becomes
all that the next unit of work has done so far.

KEYS
  1  own        hash  registered owners (the fence)
  2  dead       hash  fenced owners whose work is still to be resolved
  3  unit       list  the unit of work
  4  messages   hash  message id -> record
  5  expiry     zset  expiry times
  6  wake_base  base  keys that waiting connections block on
  7  journal    stream
  8.. for each queue of the unit of work: queue, available, index, waiters; where messages got are members of groups,
      for each of them also groups, members
ARGV
  1  caller       owner token of the caller
  2  owner        owner token of the unit of work
  3  unit_id
  4  next_unit    id of the unit of work that what is marked goes on in; "" undoes that too, and so does who is not its owner
  5  marked       operations that are marked
  6  budget       messages to undo in this call, at most
  7  journal_max
  8.. names of the queues, in the order of their keys
REPLY       { 0, operations left, messages undone } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 3 one decision, 4 bounded, 5 position
COST        O(budget * log depth), and a mebibyte of messages, or one operation
USES        place, unit_of_work, journal
]]
local own, unit, messages, expiry, wake_base = KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local caller, owner, unit_id, next_unit = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local skips = next_unit ~= "" and caller == owner and tonumber(ARGV[5]) or 0
local BACKOUT_COUNT_MAX, BYTES_MAX = 255, 2 ^ 20
if may_not_end(own, KEYS[2], caller, owner) then return { MQRC.CONNECTION_BROKEN } end

local queues, keys_per_queue = {}, (#KEYS - 7) / (#ARGV - 7)
for position = 8, #ARGV do
    local key = 8 + (position - 8) * keys_per_queue
    local queue = { name = ARGV[position], q = KEYS[key], a = KEYS[key + 1], i = KEYS[key + 2], w = KEYS[key + 3] }
    if keys_per_queue > 4 then queue.g, queue.r = KEYS[key + 4], KEYS[key + 5] end
    queues[ARGV[position]] = queue
end

local state, operations = next_chunk(unit, tonumber(ARGV[6]), skips)
if not state then return { 0, 0, 0 } end
-- "C": its commit was decided and has begun; nobody can back it out any more.
if string.sub(state, 1, 1) == "C" or string.sub(state, 2) ~= unit_id then return { 0, 0, 0 } end

local function with_backout_counted(record)
    local backouts = math.min(string.byte(record, 3) + 1, BACKOUT_COUNT_MAX)
    return string.sub(record, 1, 2) .. string.char(backouts) .. string.sub(record, 4)
end

local undone, count, bytes = {}, 0, 0
for _, operation in ipairs(operations) do
    if bytes >= BYTES_MAX then break end
    undone[#undone + 1], count = operation, count + operation.count
    local queue = queues[operation.queue]
    local ids, added = {}, {}
    for id, score in string.gmatch(operation.pairs, "(%S+):(%d+)") do
        ids[#ids + 1] = id
        added[#added + 1] = tonumber(score)
        added[#added + 1] = id
    end
    if operation.kind == "P" then
        redis.call("HINCRBY", queue.q, "pu", -operation.count)
        redis.call("HDEL", messages, unpack(ids))
    else
        local records = redis.call("HMGET", messages, unpack(ids))
        local stored = {}
        for position, id in ipairs(ids) do
            bytes = bytes + #records[position]
            records[position] = with_backout_counted(records[position])
            stored[2 * position - 1], stored[2 * position] = id, records[position]
        end
        local waiting = tonumber(redis.call("HGET", queue.q, "nw") or 0)
        redis.call("HINCRBY", queue.q, "gu", -operation.count)
        redis.call("HSET", messages, unpack(stored))
        make_available(queue, messages, own, wake_base, expiry, waiting, added, records)
    end
end

local function note_backout()
    journal(KEYS[7], ARGV[7], "e", "backout", "o", caller, "u", unit_id, "n", count, "r", caller == owner and "" or "1")
end

if skips == 0 then
    local left = drop_chunk(unit, undone, "B" .. unit_id)
    note_backout()
    return { 0, left, count }
end
for _, operation in ipairs(undone) do redis.call("LREM", unit, 1, operation.element) end
local left = redis.call("LLEN", unit) - 1 - skips
note_backout()
if left > 0 then
    redis.call("LSET", unit, 0, "B" .. unit_id)
    return { 0, left, count }
end
local marked = redis.call("LRANGE", unit, 1, -1)
redis.call("DEL", unit)
for _, element in ipairs(marked) do
    local _, number, queue_name, pairs_text = read_operation(element)
    record_operation(unit, next_unit, "G", queue_name, number, pairs_text)
    local ids = string.gsub(pairs_text, ":%d+", "")
    journal(KEYS[7], ARGV[7], "e", "get", "o", owner, "q", queue_name, "u", next_unit, "i", ids)
end
return { 0, 0, count }
