--[[
admin/note_connection.lua - what a connection tells of itself, as others are shown it. It goes with the connection.

KEYS
  1 own, 2 fence
ARGV
  1 owner, 2 qmgr, 3 incarnation, 4 process
  5  info     JSON
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(1)
USES        membership
]]
if not is_registered(KEYS[1], KEYS[2], ARGV[2], ARGV[3], ARGV[4], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[5])
return { 0 }
