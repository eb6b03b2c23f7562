--[[
structure/turn_trigger_off.lua - NOTRIGGER, after the trigger message of TRIGTYPE(DEPTH) was written.

That is no new version of the definition, because nothing that a put or a get decides depends on it.

KEYS
  1  queue  hash  definition
ARGV
REPLY       1 it is off now, 0 it was
REASONS     none
INVARIANTS  none
COST        O(1)
]]
local text, count = redis.call("HGET", KEYS[1], "def"), 0
if text then text, count = string.gsub(text, "(\"trigger_control\":)\"TRIGGER\"", "%1\"NOTRIGGER\"") end
if count == 0 then return 0 end
redis.call("HSET", KEYS[1], "def", text)
INLINE.arm_events(KEYS[1], text)
return 1
