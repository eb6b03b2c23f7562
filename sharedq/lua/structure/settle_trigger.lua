--[[
structure/settle_trigger.lua - a manager has done a mark for trigger messages. A mark that has come meanwhile stays.

KEYS
  1 own
  2  versions   hash  "TRIGGER": the connection that writes the trigger messages of this structure
  3 owed
ARGV
  1  caller  owner token
  2  found   the field of owed
  3  count   how often that had come, or for how many of its times the messages are written
REPLY       { 0 } | { 1 } another connection writes them | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(1)
USES        fence
]]
local ANOTHER = 1
if is_fenced(KEYS[1], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
if redis.call("HGET", KEYS[2], "TRIGGER") ~= ARGV[1] then return { ANOTHER } end
local is_there
INLINE.settle(KEYS[3], ARGV[2], ARGV[3], is_there)
return { 0 }
