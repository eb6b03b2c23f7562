--[[
structure/backout.lua - MQBACK in one structure: undo what the unit of work recorded there, a chunk at a time.

Puts vanish; gets return to the place they had, with BackoutCount raised. A peer does the same for a dead owner. To raise
the count is to write the message again, so a chunk ends by bytes too, wherever that is.

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
  4  budget       messages to undo in this call, at most
  5  journal_max
  6.. names of the queues, in the order of their keys
REPLY       { 0, operations left, messages undone } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 3 one decision, 4 bounded, 5 position
COST        O(budget * log depth), and half a mebibyte of messages, or one
USES        place, unit_of_work, journal
]]
local own, unit, messages, expiry, wake_base = KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local caller, owner, unit_id = ARGV[1], ARGV[2], ARGV[3]
-- How many are written at once where none is long (`lg`, see docs/keyspace.md): a quarter of a mebibyte.
local BACKOUT_COUNT_MAX, BYTES_MAX, SLICE = 255, 2 ^ 18, 25
if may_not_end(own, KEYS[2], caller, owner) then return { MQRC.CONNECTION_BROKEN } end

local queues, keys_per_queue = {}, (#KEYS - 7) / (#ARGV - 5)
for position = 6, #ARGV do
    local key = 8 + (position - 6) * keys_per_queue
    local queue = { name = ARGV[position], q = KEYS[key], a = KEYS[key + 1], i = KEYS[key + 2], w = KEYS[key + 3] }
    if keys_per_queue > 4 then queue.g, queue.r = KEYS[key + 4], KEYS[key + 5] end
    queues[ARGV[position]] = queue
end

local state, operations = next_chunk(unit, tonumber(ARGV[4]))
if not state then return { 0, 0, 0 } end
-- "C": its commit was decided and has begun; nobody can back it out any more.
if string.sub(state, 1, 1) == "C" or string.sub(state, 2) ~= unit_id then return { 0, 0, 0 } end

local function with_backout_counted(record)
    local backouts = math.min(string.byte(record, 3) + 1, BACKOUT_COUNT_MAX)
    return string.sub(record, 1, 2) .. string.char(backouts) .. string.sub(record, 4)
end

-- Returns how many of the operation's gets went back before there were enough bytes.
local bytes = 0
local function undo_gets(queue, ids, added)
    local done, step = 0, redis.call("HGET", queue.q, "lg") and 1 or SLICE
    while done < #ids and bytes < BYTES_MAX do
        local to = math.min(done + step, #ids)
        local records, stored = redis.call("HMGET", messages, unpack(ids, done + 1, to)), {}
        for position, record in ipairs(records) do
            bytes = bytes + #record
            records[position] = with_backout_counted(record)
            stored[2 * position - 1], stored[2 * position] = ids[done + position], records[position]
        end
        redis.call("HSET", messages, unpack(stored))
        local waiting = tonumber(redis.call("HGET", queue.q, "nw") or 0)
        make_available(
            queue, messages, own, wake_base, expiry, waiting, { unpack(added, 2 * done + 1, 2 * to) }, records
        )
        done = to
    end
    redis.call("HINCRBY", queue.q, "gu", -done)
    return done
end

local undone, count, part = 0, 0, nil
for _, operation in ipairs(operations) do
    if bytes >= BYTES_MAX then break end
    local queue, done = queues[operation.queue], operation.count
    local ids, added = messages_of(operation)
    if operation.kind == "P" then
        redis.call("HINCRBY", queue.q, "pu", -operation.count)
        redis.call("HDEL", messages, unpack(ids))
    else
        done = undo_gets(queue, ids, added)
    end
    undone, count = undone + 1, count + done
    if done < #ids then
        local scores = {}
        for position = done + 1, #ids do scores[position - done] = string.format("%.0f", added[2 * position - 1]) end
        part = operation_text("G", operation.queue, { unpack(ids, done + 1) }, scores)
    end
end

local left = drop_chunk(unit, undone, "B" .. unit_id, part)
journal(KEYS[7], ARGV[5], "e", "backout", "o", caller, "u", unit_id, "n", count, "r", caller == owner and "" or "1")
return { 0, left, count }
