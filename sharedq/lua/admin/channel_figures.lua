--[[
admin/channel_figures.lua - what the clients of a channel server have done, as others are shown it.

A server that has ended tells no more, so its figures go after a while.

KEYS
  1  served  hash  "channels", "connections" -> JSON
  2 fence
ARGV
  1 qmgr, 2 incarnation
  3  channels     JSON
  4  connections  JSON
  5  kept_s       seconds after which the figures are forgotten
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(1)
USES        membership
]]
if is_dead(KEYS[2], ARGV[1], ARGV[2], "", "") then return { MQRC.CONNECTION_BROKEN } end
redis.call("HSET", KEYS[1], "channels", ARGV[3], "connections", ARGV[4])
redis.call("EXPIRE", KEYS[1], ARGV[5])
return { 0 }
