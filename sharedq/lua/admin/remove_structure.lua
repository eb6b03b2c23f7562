--[[
admin/remove_structure.lua - forget a structure that no queue is defined in.

KEYS
  1  group       hash  counters
  2  structures  hash  structure -> JSON
ARGV
  1  structure
REPLY       { 0 } | { reason }
REASONS     2349 CF_STRUC_ERROR (unknown) | 2346 CF_STRUC_IN_USE
INVARIANTS  none
COST        O(1)
]]
local group, structures, structure = KEYS[1], KEYS[2], ARGV[1]
if redis.call("HEXISTS", structures, structure) == 0 then return { MQRC.CF_STRUC_ERROR } end
if tonumber(redis.call("HGET", group, "queues " .. structure) or 0) > 0 then return { MQRC.CF_STRUC_IN_USE } end
redis.call("HDEL", group, "queues " .. structure)
redis.call("HDEL", structures, structure)
-- Who serves queues of it looks when that has changed.
redis.call("HINCRBY", group, "definition", 1)
return { 0 }
