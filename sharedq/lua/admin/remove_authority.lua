--[[
admin/remove_authority.lua - forget what authorities a user has to the queues of a profile.

KEYS
  1 group, 2 authorities
ARGV
  1  field  profile, newline, user
REPLY       { 0, version } as of admin/set_authority | { reason }
REASONS     2085 UNKNOWN_OBJECT_NAME
INVARIANTS  none
COST        O(1)
]]
if redis.call("HDEL", KEYS[2], ARGV[1]) == 0 then return { MQRC.UNKNOWN_OBJECT_NAME } end
return { 0, redis.call("HINCRBY", KEYS[1], "definition", 1) }
