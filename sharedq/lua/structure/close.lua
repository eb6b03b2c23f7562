--[[
structure/close.lua - MQCLOSE of a local queue: the handle goes with its lock and its marks.

KEYS
  1 own, 2 queue, 3 handles, 4 holdings, 5 made
  6  available  zset  ids by score; this and what follows only for a handle that may have marked or locked something
  7 marks, 8 marks_base
  9  messages   hash  message id -> record; this and what follows only for a handle that may have locked something
  10 index, 11 waiters, 12 expiry, 13 wake_base, 14 groups, 15 members, 16 locks
ARGV
  1 owner, 2 queue_name, 3 handle
REPLY       { 0 } | { 1 } it was the last handle of a queue that is deleted logically: the caller deletes that | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 5 position
COST        O(1); messages that it has locked * log depth; of a handle that marked messages up to 1000 of those
USES        fence, handles, locks, marks
]]
local own, owner = KEYS[1], ARGV[1]
if is_fenced(own, owner) then return { MQRC.CONNECTION_BROKEN } end
local handle = owner .. "#" .. ARGV[3]
local queue = {
    name = ARGV[2], q = KEYS[2], h = KEYS[3], a = KEYS[6], k = KEYS[7],
    i = KEYS[10], w = KEYS[11], g = KEYS[14], r = KEYS[15], l = KEYS[16],
}
local marks = queue.k and marks_of(queue, KEYS[8])
if queue.l then unlock(queue, KEYS[9], own, KEYS[12], KEYS[13], handle, marks) end
local is_last_together = give_back_handle(queue, handle)
if marks then
    marks.end_holder(handle)
    if is_last_together then marks.end_holder("C") end
end
redis.call("SREM", KEYS[4], ARGV[2] .. "\n" .. ARGV[3])
return { note_deleted(queue, KEYS[5]) and 1 or 0 }
