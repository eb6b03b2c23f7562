--[[
admin/decide.lua - MQCMIT of a unit of work in several structures: write the one decision.

Every operation of the unit of work stands in its structure already. A recoverer fences the owner here before it
looks for the decision, so none can appear after it looked.

KEYS
  1 fence, 2 decisions, 3 own
ARGV
  1 owner, 2 qmgr, 3 incarnation, 4 process, 5 unit_id
  6  structures  names, separated by blanks
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 3 one decision
COST        O(1)
USES        membership
]]
if not is_registered(KEYS[3], KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
redis.call("HSET", KEYS[2], ARGV[5], ARGV[6])
return { 0 }
