--[[
structure/close.lua - MQCLOSE of a local queue.

KEYS
  1  own       hash  registered owners (the fence)
  2  queue     hash  counters
  3  handles   hash  open handles
  4  holdings  set   what the caller holds
ARGV
  1  owner
  2  queue_name
  3  handle
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(1)
USES        fence, handles
]]
local owner = ARGV[1]
if is_fenced(KEYS[1], owner) then return { MQRC.CONNECTION_BROKEN } end
give_back_handle({ q = KEYS[2], h = KEYS[3] }, owner .. "#" .. ARGV[3])
redis.call("SREM", KEYS[4], ARGV[2] .. "\n" .. ARGV[3])
return { 0 }
