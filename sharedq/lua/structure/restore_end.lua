--[[
structure/restore_end.lua - RECOVER CFSTRUCT ends: all queues of the structure can be used from this moment on.

KEYS
  1  versions  hash    "RECOVER": the recovery that is under way
  2 sequence
  3  destinations  hash  destination codes: those in the ids of the messages
  4.. queue    hash    definition and counters of each
ARGV
  1  recovery    id of the caller's
  2.. of each queue: definition, JSON; destination code or ""
  .. fields of destinations and their values
REPLY       { 0 } | { reason }
REASONS     2346 CF_STRUC_IN_USE (another recovery is under way, or none)
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(queues)
]]
if redis.call("HGET", KEYS[1], "RECOVER") ~= ARGV[1] then return { MQRC.CF_STRUC_IN_USE } end
local at = 2
for key = 4, #KEYS do
    INLINE.arm_events(KEYS[key], ARGV[at])
    redis.call("HSET", KEYS[key], "ver", redis.call("INCR", KEYS[2]), "def", ARGV[at])
    INLINE.note_look(KEYS[key])
    if ARGV[at + 1] ~= "" then redis.call("HSET", KEYS[key], "code", ARGV[at + 1]) end
    at = at + 2
end
redis.call("DEL", KEYS[3])
for field = at, #ARGV, 2 do redis.call("HSET", KEYS[3], ARGV[field], ARGV[field + 1]) end
redis.call("HDEL", KEYS[1], "RECOVER")
return { 0 }
