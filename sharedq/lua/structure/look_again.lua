--[[
structure/look_again.lua - a mover has to look again at what it has passed over, because the group has other members.

They stand on the queue from now on: a call that was made before looks by these.

KEYS
  1 own, 2 queue, 3 waiters, 4 wake_base, 5 marks, 6 marks_base
ARGV
  1  queue_name
  2  members     as structure/get_grouped takes them; "" where nothing is to be passed over
REPLY       { 0 }
REASONS     none
INVARIANTS  4 bounded scripts
COST        O(1), messages passed over up to 1000, and browses that wait up to 256
USES        place, marks
]]
local queue = { name = ARGV[1], q = KEYS[2], w = KEYS[3], k = KEYS[5] }
if ARGV[2] == "" or redis.call("HEXISTS", queue.q, "ver") == 0 then
    redis.call("HDEL", queue.q, "mm")
else
    redis.call("HSET", queue.q, "mm", ARGV[2])
end
marks_of(queue, KEYS[6]).end_holder("M")
wake_kind(queue, KEYS[1], KEYS[4], "B")
return { 0 }
