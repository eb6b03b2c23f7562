--[[
structure/close.lua - MQCLOSE of a local queue.

KEYS
  1  own       hash  registered owners (the fence)
  2  queue     hash  counters
  3  handles   hash  open handles
  4  holdings  set   what the caller holds
  5  available  zset  ids by score; this and what follows only for a handle that may have marked something
  6  marks      hash  message id -> holders of marks
  7  marks_base base  marks by holder
ARGV
  1  owner
  2  queue_name
  3  handle
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(1); of a handle that marked messages up to 1000 of those
USES        fence, handles, marks
]]
local owner = ARGV[1]
if is_fenced(KEYS[1], owner) then return { MQRC.CONNECTION_BROKEN } end
local queue, handle = { q = KEYS[2], h = KEYS[3], a = KEYS[5], k = KEYS[6] }, owner .. "#" .. ARGV[3]
local is_last_together = give_back_handle(queue, handle)
if queue.k then
    local marks = marks_of(queue, KEYS[7])
    marks.end_holder(handle)
    if is_last_together then marks.end_holder("C") end
end
redis.call("SREM", KEYS[4], ARGV[2] .. "\n" .. ARGV[3])
return { 0 }
