--[[
structure/restore.lua - messages of a backup return to the places they had, on a queue that nobody can use yet.

KEYS
  1  versions   hash  "RECOVER": the recovery that is under way
  2 own, 3 messages, 4 expiry, 5 wake_base, 6 queue, 7 available, 8 index, 9 waiters, 10 groups, 11 members
ARGV
  1  recovery    id of the caller's
  2  queue_name
  3.. id, score, record of each message
REPLY       { 0 } | { reason }
REASONS     2346 CF_STRUC_IN_USE (another recovery is under way, or none)
INVARIANTS  1 one state, 4 bounded (the caller gives at most 100 messages), 5 position
MEMORY      refused when Redis is full
COST        O(messages * log depth)
USES        place, groups
]]
if redis.call("HGET", KEYS[1], "RECOVER") ~= ARGV[1] then return { MQRC.CF_STRUC_IN_USE } end
local queue = {
    name = ARGV[2], q = KEYS[6], a = KEYS[7], i = KEYS[8], w = KEYS[9], g = KEYS[10], r = KEYS[11],
}
local stored, added, records, is_long = {}, {}, {}, false
for position = 3, #ARGV, 3 do
    local at = (position - 3) / 3 + 1
    stored[2 * at - 1], stored[2 * at] = ARGV[position], ARGV[position + 2]
    added[2 * at - 1], added[2 * at] = tonumber(ARGV[position + 1]), ARGV[position]
    records[at] = ARGV[position + 2]
    is_long = is_long or #records[at] > CONST.LONG
end
redis.call("HSET", KEYS[3], unpack(stored))
if is_long then redis.call("HSET", queue.q, "lg", 1) end
-- Some may have been backed out: see structure/backout.
if is_transmit_queue(queue) then redis.call("HSET", queue.q, "bo", 1) end
make_available(queue, KEYS[3], KEYS[2], KEYS[5], KEYS[4], 0, added, records)
return { 0 }
