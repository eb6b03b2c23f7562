--[[
admin/check_owner.lua - is this owner still alive for the group? Asked after it entered a new structure, and when it is
not known there any more.

KEYS
  1 fence, 2 failures, 3 own
ARGV
  1 owner, 2 qmgr, 3 incarnation, 4 process, 5 structure
REPLY       { 0, what was told of the structure, or "" } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(1)
USES        membership
]]
if not is_registered(KEYS[3], KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
return { 0, redis.call("HGET", KEYS[2], ARGV[5]) or "" }
