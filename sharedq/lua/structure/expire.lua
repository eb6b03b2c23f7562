--[[
structure/expire.lua - discard messages whose expiry time has passed; whatever is no longer available is left to
whoever has it.

KEYS
  1  own       hash    registered owners (the fence)
  2  messages  hash    message id -> record
  3  expiry    zset    expiry times
  4  available zset    of the one queue this call is for
  5  index     zset    selection index of that queue
  6  journal   stream
  7  queue     hash    counters
  8  groups    hash    what is there of groups on that queue
  9  members   zset    its members of groups, by score
  10 marks     hash    message id -> holders of marks
  11 marks_base base   marks by holder
ARGV
  1  caller
  2  queue_name
  3  journal_max
  4.. message ids
REPLY       { 0, discarded } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 4 bounded
COST        O(ids * log depth)
USES        fence, place, marks, journal
]]
local own, messages, expiry = KEYS[1], KEYS[2], KEYS[3]
local queue = { name = ARGV[2], q = KEYS[7], a = KEYS[4], i = KEYS[5], g = KEYS[8], r = KEYS[9], k = KEYS[10] }
if is_fenced(own, ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local gone, marks = {}, marks_of(queue, KEYS[11])
for position = 4, #ARGV do
    local id = ARGV[position]
    local score, record = redis.call("ZSCORE", queue.a, id), redis.call("HGET", messages, id)
    if record and is_member(queue, record) then score = redis.call("ZSCORE", queue.r, id) end
    if score and record and is_expired(record) then
        redis.call("ZREM", queue.a, id)
        look_after(queue, messages, expiry, -1, id, tonumber(score), record)
        marks.drop(id)
        gone[#gone + 1] = id
    elseif not record then
        redis.call("ZREM", expiry, queue.name .. " " .. id)
    end
end
if #gone > 0 then
    redis.call("HDEL", messages, unpack(gone))
    journal(KEYS[6], ARGV[3], "e", "expire", "o", ARGV[1], "q", queue.name, "i", table.concat(gone, " "))
end
return { 0, #gone }
