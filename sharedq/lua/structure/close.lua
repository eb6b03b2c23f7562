--[[
structure/close.lua - MQCLOSE of a local queue: the handle goes with its lock and its marks.

KEYS
  1  own       hash  registered owners (the fence)
  2  queue     hash  counters
  3  handles   hash  open handles
  4  holdings  set   what the caller holds
  5  available  zset  ids by score; this and what follows only for a handle that may have marked or locked something
  6  marks      hash  message id -> holders of marks
  7  marks_base base  marks by holder
  8  messages   hash  message id -> record; this and what follows only for a handle that may have locked something
  9  index      zset  selection index
  10 waiters    zset  waiting gets
  11 expiry     zset  expiry times
  12 wake_base  base  keys that waiting connections block on
  13 groups     hash  what is there of groups
  14 members    zset  members of groups, by score
  15 locks      hash  what handles have locked
ARGV
  1  owner
  2  queue_name
  3  handle
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 5 position
COST        O(1); messages that it has locked * log depth; of a handle that marked messages up to 1000 of those
USES        fence, handles, locks, marks
]]
local own, owner = KEYS[1], ARGV[1]
if is_fenced(own, owner) then return { MQRC.CONNECTION_BROKEN } end
local handle = owner .. "#" .. ARGV[3]
local queue = {
    name = ARGV[2], q = KEYS[2], h = KEYS[3], a = KEYS[5], k = KEYS[6],
    i = KEYS[9], w = KEYS[10], g = KEYS[13], r = KEYS[14], l = KEYS[15],
}
local marks = queue.k and marks_of(queue, KEYS[7])
if queue.l then unlock(queue, KEYS[8], own, KEYS[11], KEYS[12], handle, marks) end
local is_last_together = give_back_handle(queue, handle)
if marks then
    marks.end_holder(handle)
    if is_last_together then marks.end_holder("C") end
end
redis.call("SREM", KEYS[4], ARGV[2] .. "\n" .. ARGV[3])
return { 0 }
