--[[
structure/backout.lua - MQBACK in one structure: undo what the unit of work recorded there, a chunk at a time.

Puts vanish; gets return to the place they had, with BackoutCount raised. A peer does the same for a dead owner. To raise
the count is to write the message again, so a chunk ends by bytes too, wherever that is.

A message got with MQGMO_MARK_SKIP_BACKOUT stays got where its own program asks for that: with the last chunk it becomes
all that the next unit of work has done so far.

KEYS
  1 own, 2 dead
  3  unit       list  the unit of work; a prepared one stands under its own id
  4 messages, 5 expiry, 6 wake_base, 7 journal
  8.. for each queue of the unit of work: queue, available, index, waiters; where messages got are members of groups,
      for each of them also groups, members
ARGV
  1  caller       owner token of the caller
  2  owner        owner token of the unit of work; the caller's where that is a prepared one
  3  unit_id
  4  next_unit    id of the unit of work that what is marked goes on in; "" undoes that too, and so does who is not its owner
  5  marked       operations that are marked
  6  budget       messages to undo in this call, at most
  7  journal_max
  8.. names of the queues, in the order of their keys
REPLY       { 0, operations left, messages undone } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 3 one decision, 4 bounded, 5 position
COST        O(budget * log depth), and half a mebibyte of messages, or one
USES        place, unit_of_work, journal
]]
local own, unit, messages, expiry, wake_base = KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local caller, owner, unit_id, next_unit = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local skips = next_unit ~= "" and caller == owner and tonumber(ARGV[5]) or 0
-- How many are written at once where none is long (`lg`, see docs/reference/key-space.md): a quarter of a mebibyte.
local BACKOUT_COUNT_MAX, BYTES_MAX, SLICE = 255, 2 ^ 18, 25
if may_not_end(own, KEYS[2], caller, owner) then return { MQRC.CONNECTION_BROKEN } end

local queues, keys_per_queue = {}, (#KEYS - 7) / (#ARGV - 7)
for position = 8, #ARGV do
    local key = 8 + (position - 8) * keys_per_queue
    local queue = { name = ARGV[position], q = KEYS[key], a = KEYS[key + 1], i = KEYS[key + 2], w = KEYS[key + 3] }
    if keys_per_queue > 4 then queue.g, queue.r = KEYS[key + 4], KEYS[key + 5] end
    queues[ARGV[position]] = queue
end

local state, operations = next_chunk(unit, tonumber(ARGV[6]), skips)
-- "C": its commit was decided and has begun; nobody can back it out any more.
if not state or string.sub(state, 1, 1) == "C" or string.sub(state, 2) ~= unit_id then
    return nothing_left(own, caller)
end

local function with_backout_counted(record)
    local backouts = math.min(string.byte(record, 3) + 1, BACKOUT_COUNT_MAX)
    return string.sub(record, 1, 2) .. string.char(backouts) .. string.sub(record, 4)
end

-- A message that a dead owner was handed and has not seen comes back as it was (see prelude/waiting).
local unseen = caller ~= owner
    and string.match(redis.call("LRANGE", wake_base .. owner, 0, 0)[1] or "", "^([^ \n]+)\n")

-- Returns how many of the operation's gets went back before there were enough bytes.
local bytes = 0
local function undo_gets(queue, ids, added)
    local done, step = 0, redis.call("HGET", queue.q, "lg") and 1 or SLICE
    while done < #ids and bytes < BYTES_MAX do
        local to = math.min(done + step, #ids)
        local records, stored = redis.call("HMGET", messages, unpack(ids, done + 1, to)), {}
        for position, record in ipairs(records) do
            bytes = bytes + #record
            if ids[done + position] ~= unseen then records[position] = with_backout_counted(record) end
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
    INLINE.note_change(queue.q, queue.a, queue.name, owner, done, 0)
    -- A transfer reads no records, unless it is told that there are some which must not keep their BackoutCount.
    if done > 0 and is_transmit_queue(queue) then redis.call("HSET", queue.q, "bo", 1) end
    return done
end

local undone, count, part = {}, 0, nil
for _, operation in ipairs(operations) do
    if bytes >= BYTES_MAX then break end
    local queue, done = queues[operation.queue], operation.count
    local ids, added = ids_of(operation), nil
    if operation.kind == "P" then
        redis.call("HINCRBY", queue.q, "pu", -operation.count)
        redis.call("HDEL", messages, unpack(ids))
        INLINE.note_change(queue.q, queue.a, queue.name, owner, 0, done)
    else
        added = added_of(operation)
        done = undo_gets(queue, ids, added)
    end
    undone[#undone + 1], count = operation, count + done
    if done < #ids then
        local scores = {}
        for position = done + 1, #ids do scores[position - done] = string.format("%.0f", added[2 * position - 1]) end
        part = operation_text("G", operation.queue, { unpack(ids, done + 1) }, scores)
    end
end

local function note_backout()
    journal(KEYS[7], ARGV[7], "e", "backout", "o", caller, "u", unit_id, "n", count, "r", caller == owner and "" or "1")
end

if skips == 0 then
    local left = drop_chunk(unit, #undone, "B" .. unit_id, part)
    note_backout()
    return { 0, left, count }
end
for _, operation in ipairs(undone) do redis.call("LREM", unit, 1, operation.element) end
if part then redis.call("LINSERT", unit, "AFTER", state, part) end
local left = redis.call("LLEN", unit) - 1 - skips
note_backout()
if left > 0 then
    redis.call("LSET", unit, 0, "B" .. unit_id)
    return { 0, left, count }
end
local marked = redis.call("LRANGE", unit, 1, -1)
redis.call("DEL", unit)
redis.call("RPUSH", unit, "A" .. next_unit)
for _, element in ipairs(marked) do
    local operation = read_operation(element)
    redis.call("RPUSH", unit, "G" .. string.sub(element, 2))
    -- This owner had these messages before the backout, so their gets pass nobody by.
    journal(KEYS[7], ARGV[7], "e", "get", "o", owner, "q", operation.queue, "u", next_unit, "i", operation.ids_text,
        "c", "1")
end
return { 0, 0, count }
