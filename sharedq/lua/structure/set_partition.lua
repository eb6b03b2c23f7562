--[[
structure/set_partition.lua - bring a manager's part of a partitioned queue to the definition of the group.

Versions come from the group; an older one changes nothing, so repeating and overtaking are harmless.

KEYS
  1  queue  hash  version, definition, counters
ARGV
  1  version
  2  definition  JSON
REPLY       { 0, 1 changed or 0 had it already }
REASONS     none
INVARIANTS  5 position (what is on the queue keeps its place)
COST        O(1)
]]
local known = tonumber(redis.call("HGET", KEYS[1], "ver") or 0)
if known >= tonumber(ARGV[1]) then return { 0, 0 } end
redis.call("HSET", KEYS[1], "ver", ARGV[1], "def", ARGV[2])
return { 0, 1 }
