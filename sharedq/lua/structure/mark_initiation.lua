--[[
structure/mark_initiation.lua - note that a queue is an initiation queue: from now on its first MQOPEN for input is noted.

KEYS
  1  versions  hash  "TRIGGER": there are notes for trigger messages, or may be
  2  queue     hash  definition, counters
ARGV
REPLY       1 the managers do not know yet that this structure has such notes | 0
REASONS     none
INVARIANTS  none
COST        O(1)
]]
if redis.call("HEXISTS", KEYS[2], "ver") == 0 then return 0 end
redis.call("HSET", KEYS[2], "iq", 1)
return redis.call("HSETNX", KEYS[1], "TRIGGER", "")
