--[[
structure/unfence.lua - programs and connections are recovered, and the group has forgotten them: their fences can go.

A fence keeps the dead from entering a structure after the recoverer. Once that has ended what they did, and the
administration structure knows them no more, admin/check_owner refuses one that enters before it does anything.

KEYS
  1 own, 2 fence
ARGV
  1  caller  owner token of the recoverer
  2.. tokens of processes and connections
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(tokens)
USES        fence
]]
if is_fenced(KEYS[1], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
redis.call("HDEL", KEYS[2], unpack(ARGV, 2))
return { 0 }
