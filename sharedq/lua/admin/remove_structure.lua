--[[
admin/remove_structure.lua - forget a structure that no queue is defined in; later, that it was there.

Connections that entered it stay registered in it until they end. So its name is kept, for the recovery of those that
die, until one finds that nobody is registered there any more.

KEYS
  1 group, 2 structures, 3 deleted
ARGV
  1  structure
  2  mode        delete | forget: nobody is registered there
REPLY       { 0 } | { reason }
REASONS     2349 CF_STRUC_ERROR (unknown) | 2346 CF_STRUC_IN_USE
INVARIANTS  none
COST        O(1)
]]
local group, structures, structure = KEYS[1], KEYS[2], ARGV[1]
if ARGV[2] == "forget" then
    redis.call("SREM", KEYS[3], structure)
    return { 0 }
end
if redis.call("HEXISTS", structures, structure) == 0 then return { MQRC.CF_STRUC_ERROR } end
if tonumber(redis.call("HGET", group, "queues " .. structure) or 0) > 0 then return { MQRC.CF_STRUC_IN_USE } end
redis.call("HDEL", group, "queues " .. structure)
redis.call("HDEL", structures, structure)
redis.call("SADD", KEYS[3], structure)
-- Processes that serve queues of it look again when this counter has changed.
redis.call("HINCRBY", group, "definition", 1)
return { 0 }
