--[[
structure/expire.lua - discard messages whose expiry time has passed; those that are no longer available are left to
their holders.

A message that asks for a report of that is taken into the caller's unit of work instead, which puts the report: so one
report is made, and none is lost with a caller that dies. Such a message is still on its queue, or was found expired by
somebody else, who noted its place in `expiry` (prelude/place).

KEYS
  1 own, 2 messages, 3 expiry
  4  available zset    of the one queue this call is for
  5 index, 6 journal, 7 queue, 8 groups, 9 members, 10 marks, 11 marks_base, 12 unit, 13 waiters,
  14 wake_base
ARGV
  1 caller, 2 queue_name, 3 journal_max
  4  unit_id      of the caller's unit of work
  5  bytes_max    stop after this many bytes of messages that were looked at
  6  takes        1: take what asks for a report; 0: leave it
  7.. message ids
REPLY       { 0, discarded, ids looked at, [id, record, id, record of what was taken to be reported] } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 4 bounded, 5 position, 8 once
COST        O(ids * log depth), and bytes_max of records, or one
USES        fence, place, marks, unit_of_work, journal
]]
local own, messages, expiry, unit = KEYS[1], KEYS[2], KEYS[3], KEYS[12]
local caller, journal_max, unit_id, bytes_left = ARGV[1], ARGV[3], ARGV[4], tonumber(ARGV[5])
local queue = { name = ARGV[2], q = KEYS[7], a = KEYS[4], i = KEYS[5], g = KEYS[8], r = KEYS[9], k = KEYS[10] }
queue.w, queue.revealed = KEYS[13], {}
if is_fenced(own, caller) then return { MQRC.CONNECTION_BROKEN } end
local gone, taken, scores, reply, marks = {}, {}, {}, {}, marks_of(queue, KEYS[11])
local is_there, takes, looked, went = redis.call("HEXISTS", queue.q, "def") == 1, ARGV[6] == "1", 0, 0

local function take(id, score, record)
    taken[#taken + 1], scores[#scores + 1] = id, string.format("%.0f", score)
    reply[#reply + 1] = id
    reply[#reply + 1] = record
end

for position = 7, #ARGV do
    if bytes_left <= 0 then break end
    looked = looked + 1
    local id = ARGV[position]
    local entry = queue.name .. " " .. id
    local score, record = redis.call("ZSCORE", queue.a, id), redis.call("HGET", messages, id)
    bytes_left = bytes_left - #(record or "")
    if record and is_member(queue, record) then score = redis.call("ZSCORE", queue.r, id) end
    if not record then
        redis.call("ZREM", expiry, entry)
    elseif score and is_expired(record) and (takes or not has(record, TELLS_EXPIRY)) then
        redis.call("ZREM", queue.a, id)
        marks.drop(id)
        went = went + 1
        look_after(queue, messages, expiry, -1, id, tonumber(score), record)
        if has(record, TELLS_EXPIRY) then
            take(id, tonumber(score), record)
        else
            gone[#gone + 1] = id
        end
    elseif not score and (takes or not is_there) then
        -- Found expired before; or in some unit of work, or locked: then it is not listed here, or not by its place.
        local noted = tonumber(redis.call("ZSCORE", expiry, entry) or 0)
        if noted < 0 then
            redis.call("ZREM", expiry, entry)
            if is_there then take(id, noted - CONST.WAITS_TO_BE_TOLD, record) else gone[#gone + 1] = id end
        end
    end
end
if #gone > 0 then
    redis.call("HDEL", messages, unpack(gone))
    journal(KEYS[6], journal_max, "e", "expire", "o", caller, "q", queue.name, "i", table.concat(gone, " "))
end
if #taken > 0 then
    redis.call("HINCRBY", queue.q, "gu", #taken)
    record_operation(unit, unit_id, "G", queue.name, taken, scores)
    journal(KEYS[6], journal_max, "e", "expire", "o", caller, "q", queue.name, "u", unit_id, "i", table.concat(taken, " "))
end
tell_of_revealed(queue, messages, own, KEYS[14])
if went > 0 then INLINE.note_change(queue.q, queue.a, queue.name, caller, 0, went) end
return { 0, #gone, looked, reply }
