--[[
structure/restore_begin.lua - RECOVER CFSTRUCT begins: the structure is lost, or the recovery that has begun there did not
come to its end. What is left of its queues is dropped; nobody can use them before structure/restore_end.

KEYS
  1  versions  hash    "RECOVER": the recovery that is under way
  2  sequence  string  counter of message numbers and arrivals
  3  messages  hash    message id -> record
  4  expiry    zset    expiry times
  5.. for each queue: queue, available, index, groups, members, waiters, locks, marks
ARGV
  1  recovery  its id
  2  sequence  what the counter must have passed: no number that was given since the backup comes again
REPLY       { 0 } | { reason }
REASONS     2346 CF_STRUC_IN_USE (a queue is defined there, so it is not lost)
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(queues)
]]
local KEYS_PER_QUEUE = 8
for key = 5, #KEYS, KEYS_PER_QUEUE do
    if redis.call("HEXISTS", KEYS[key], "ver") == 1 then return { MQRC.CF_STRUC_IN_USE } end
end
for key = 5, #KEYS, KEYS_PER_QUEUE do redis.call("UNLINK", unpack(KEYS, key, key + KEYS_PER_QUEUE - 1)) end
redis.call("UNLINK", KEYS[3], KEYS[4])
redis.call("HSET", KEYS[1], "RECOVER", ARGV[1])
local missing = tonumber(ARGV[2]) - tonumber(redis.call("GET", KEYS[2]) or 0)
if missing > 0 then redis.call("INCRBY", KEYS[2], string.format("%.0f", missing)) end
return { 0 }
