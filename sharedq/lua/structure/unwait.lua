--[[
structure/unwait.lua - a waiting get gives up: its interval ended, or the manager is quiescing.

When it had been woken already and takes nothing, the wake-up is passed on: another waiter may want the message.

KEYS
  1 own, 2 queue, 3 available, 4 waiters, 5 wake, 6 wake_base, 7 messages, 8 journal, 9 index
ARGV
  1 owner, 2 queue_name, 3 journal_max
REPLY       { 0 [, the message that it was handed in its unit of work: id, newline, record] } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(log waiters); waiters, at most 256, where a wake-up is passed on
USES        place, waiting
]]
local queue = { name = ARGV[2], q = KEYS[2], a = KEYS[3], i = KEYS[9], w = KEYS[4] }
queue.hand = { messages = KEYS[7], journal = KEYS[8], journal_max = ARGV[3] }
local own, owner = KEYS[1], ARGV[1]
local state = redis.call("HGET", own, owner)
if not state then return { MQRC.CONNECTION_BROKEN } end
if state == "" then return { 0 } end
if string.byte(state) == 72 then
    local id, record = take_arrived(own, owner, KEYS[5])
    if id then return { 0, id .. "\n" .. record } end
end
if state == "H" .. queue.name and take_back(queue, owner, KEYS[5]) then state = "K" .. queue.name end
stop_waiting(queue, own, owner, state, KEYS[5])
-- Nobody remembers which message it was woken for, so every waiter here looks again; a look in vain costs a call.
if string.sub(state, 1, 1) == "K" and is_anything_on(queue) then
    wake_everyone(queue, own, KEYS[6])
end
return { 0 }
