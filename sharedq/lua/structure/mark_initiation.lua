--[[
structure/mark_initiation.lua - note that a queue is an initiation queue: from now on its first MQOPEN for input is noted.

KEYS
  1  versions  hash  "TRIGGER": there are notes for trigger messages, or may be
  2 queue, 3 owed
ARGV
  1  queue_name
REPLY       { 1 the managers do not know yet that this structure has such notes | 0, 1 an MQOPEN was not looked at yet | 0 }
REASONS     none
INVARIANTS  none
COST        O(1)
]]
if redis.call("HEXISTS", KEYS[2], "ver") == 0 then return { 0, 0 } end
local is_opening = redis.call("HEXISTS", KEYS[3], "O " .. ARGV[1])
redis.call("HSET", KEYS[2], "iq", 1)
return { redis.call("HSETNX", KEYS[1], "TRIGGER", ""), is_opening }
