--[[
structure/restore_end.lua - RECOVER CFSTRUCT ends: all queues of the structure can be used from this moment on.

KEYS
  1  versions  hash    "RECOVER": the recovery that is under way
  2  sequence  string  counter; versions come from it
  3.. queue    hash    definition and counters of each
ARGV
  1  recovery    id of the caller's
  2.. definition of each queue, JSON
REPLY       { 0 } | { reason }
REASONS     2346 CF_STRUC_IN_USE (another recovery is under way, or none)
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(queues)
]]
if redis.call("HGET", KEYS[1], "RECOVER") ~= ARGV[1] then return { MQRC.CF_STRUC_IN_USE } end
for position = 2, #ARGV do
    redis.call("HSET", KEYS[position + 1], "ver", redis.call("INCR", KEYS[2]), "def", ARGV[position])
end
redis.call("HDEL", KEYS[1], "RECOVER")
return { 0 }
