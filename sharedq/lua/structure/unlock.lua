--[[
structure/unlock.lua - MQGET with MQGMO_UNLOCK.

KEYS
  1  own        hash  registered owners (the fence)
  2  messages   hash  message id -> record
  3  queue      hash  counters
  4  available  zset  ids by score
  5  index      zset  selection index
  6  waiters    zset  waiting gets
  7  expiry     zset  expiry times
  8  wake_base  base  keys that waiting connections block on
  9  groups     hash  what is there of groups
  10 members    zset  members of groups, by score
  11 locks      hash  what handles have locked
  12 marks      hash  message id -> holders of marks
  13 marks_base base  marks by holder
  14 handles    hash  open handles
ARGV
  1  owner
  2  queue_name
  3  handle
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
