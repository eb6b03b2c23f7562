--[[
structure/unlock.lua - MQGET with MQGMO_UNLOCK.

KEYS
  1 own, 2 messages, 3 queue, 4 available, 5 index, 6 waiters, 7 expiry, 8 wake_base, 9 groups, 10 members,
  11 locks, 12 marks, 13 marks_base, 14 handles
ARGV
  1 owner, 2 queue_name, 3 handle
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN | 2209 NO_MSG_LOCKED
INVARIANTS  1 one state, 2 fencing, 5 position
COST        O(messages locked, which is 1 or the segments of a logical message, * log depth)
USES        fence, locks, marks
]]
local own, messages, expiry, owner = KEYS[1], KEYS[2], KEYS[7], ARGV[1]
local queue = {
    name = ARGV[2], q = KEYS[3], a = KEYS[4], i = KEYS[5], w = KEYS[6], g = KEYS[9], r = KEYS[10], l = KEYS[11],
    k = KEYS[12], h = KEYS[14],
}
if is_fenced(own, owner) then return { MQRC.CONNECTION_BROKEN } end
local marks = marks_of(queue, KEYS[13])
if unlock(queue, messages, own, expiry, KEYS[8], owner .. "#" .. ARGV[3], marks) == 0 then
    return { MQRC.NO_MSG_LOCKED }
end
return { 0 }
