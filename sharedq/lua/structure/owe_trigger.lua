--[[
structure/owe_trigger.lua - a manager has found that the one that writes a structure's trigger messages has to look there.

KEYS
  1  versions  hash    "TRIGGER": there is something to look at for trigger messages, or may be
  2 owed, 3 triggers
ARGV
  1  field     of owed
  2  count     how often it came; "" for what stands there once, however often it comes
REPLY       1 the managers do not know yet that this structure has such notes | 0
REASONS     none
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(1)
]]
if ARGV[2] == "" then redis.call("HSET", KEYS[2], ARGV[1], 1) else redis.call("HINCRBY", KEYS[2], ARGV[1], ARGV[2]) end
redis.call("XADD", KEYS[3], "MAXLEN", 1, "*", "", "")
return redis.call("HSETNX", KEYS[1], "TRIGGER", "")
