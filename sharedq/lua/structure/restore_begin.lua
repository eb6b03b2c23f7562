--[[
structure/restore_begin.lua - RECOVER CFSTRUCT begins: the structure is lost, or has begun anew and is empty, or the
recovery that has begun there did not come to its end. The rest of its queues is dropped; nobody can use them before
structure/restore_end, and no handle or unit of work of before is known any more.

KEYS
  1  versions  hash    "RECOVER": the recovery that is under way
  2 sequence, 3 messages, 4 expiry
  5  own       hash    registered owners: all must enter anew
  6 dead
  7.. for each queue: queue, available, index, groups, members, waiters, locks, marks, handles; after them units of work
      and holdings of owners
ARGV
  1  recovery  its id
  2  sequence  what the counter must have passed: no number that was given since the backup comes again
  3  queues    how many
  4  limit     0: none of them may be defined there. Else they may be while the counter is below it and there is no message
  5  closed    how many of them, the first, must not be open then
REPLY       { 0 } | { reason }
REASONS     2346 CF_STRUC_IN_USE (a queue is defined there, so it is not lost) | 2042 OBJECT_IN_USE
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(queues and owners)
]]
local KEYS_PER_QUEUE, FIRST, CHUNK = 9, 7, 1000
local queues_end = FIRST + KEYS_PER_QUEUE * tonumber(ARGV[3]) - 1
local is_there = false
for key = FIRST, queues_end, KEYS_PER_QUEUE do
    is_there = is_there or redis.call("HEXISTS", KEYS[key], "ver") == 1
end
if is_there then
    local count, has_messages = tonumber(redis.call("GET", KEYS[2]) or 0), redis.call("HLEN", KEYS[3]) > 0
    if has_messages or count >= tonumber(ARGV[4]) then return { MQRC.CF_STRUC_IN_USE } end
    for queue = 1, tonumber(ARGV[5]) do
        local handles = KEYS[FIRST + KEYS_PER_QUEUE * queue - 1]
        if redis.call("HLEN", handles) > 0 then return { MQRC.OBJECT_IN_USE } end
    end
end
redis.call("UNLINK", KEYS[3], KEYS[4], KEYS[5], KEYS[6])
for key = FIRST, #KEYS, CHUNK do redis.call("UNLINK", unpack(KEYS, key, math.min(key + CHUNK - 1, #KEYS))) end
redis.call("HSET", KEYS[1], "RECOVER", ARGV[1])
local missing = tonumber(ARGV[2]) - tonumber(redis.call("GET", KEYS[2]) or 0)
if missing > 0 then redis.call("INCRBY", KEYS[2], string.format("%.0f", missing)) end
return { 0 }
