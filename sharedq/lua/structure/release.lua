--[[
structure/release.lua - a dead owner's unit of work is resolved: give back its handles, their locks and marks, forget it.

A wake-up that it got and never used is passed on to those who wait on that queue; a message that it was handed and that
never reached it goes back there.

KEYS
  1 own, 2 dead
  3  unit       list  the dead owner's unit of work
  4 holdings, 5 wake, 6 wake_base, 7 messages, 8 expiry, 9 journal, 10 made
  11.. for each queue it holds something of: queue, available, index, waiters, handles, groups, members, locks, marks,
      and the base of its marks by holder
ARGV
  1  caller     owner token of the recoverer
  2  owner      the dead owner
  3  queues     how many
  4  journal_max
  5.. their names, in the order of their keys; after them handles to give back, as `holdings` has them
REPLY       { 0 } | { 1 } its unit of work is not resolved yet | { 2 } it has more handles
            | { 3 } its queues are to be deleted, then call again | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 4 bounded, 5 position, 6 sequence under failure
COST        O(handles named, and what they have locked, * log depth + waiters, at most 256)
USES        fence, place, waiting, handles, locks, marks
]]
local own, dead, holdings = KEYS[1], KEYS[2], KEYS[4]
local caller, owner = ARGV[1], ARGV[2]
local NOT_RESOLVED, MORE, MADE = 1, 2, 3
local names_end = 4 + (tonumber(ARGV[3]) or 0)
if is_fenced(own, caller) then return { MQRC.CONNECTION_BROKEN } end
local state = redis.call("HGET", dead, owner)
if not state then return { 0 } end
if redis.call("EXISTS", KEYS[3]) == 1 then return { NOT_RESOLVED } end

local queues = {}
for position = 5, names_end do
    local key = 11 + (position - 5) * 10
    queues[ARGV[position]] = {
        name = ARGV[position], q = KEYS[key], a = KEYS[key + 1], i = KEYS[key + 2], w = KEYS[key + 3],
        h = KEYS[key + 4], g = KEYS[key + 5], r = KEYS[key + 6], l = KEYS[key + 7],
        k = KEYS[key + 8], marks_base = KEYS[key + 9],
    }
end
local woken_for = queues[string.match(state, "^[HK]([^\n]*)")]
local is_handed = string.byte(state) == 72
-- While it has its handle: after that, the queue could be deleted between two calls.
if woken_for and is_handed then
    woken_for.hand = { messages = KEYS[7], journal = KEYS[9], journal_max = ARGV[4] }
    if take_back(woken_for, owner, KEYS[5]) then wake_everyone(woken_for, own, KEYS[6]) end
end
for position = names_end + 1, #ARGV do
    local queue_name, handle = string.match(ARGV[position], "^(.*)\n([^\n]*)$")
    local queue = queues[queue_name]
    if queue and redis.call("SREM", holdings, ARGV[position]) == 1 then
        local marks = marks_of(queue, queue.marks_base)
        unlock(queue, KEYS[7], own, KEYS[8], KEYS[6], owner .. "#" .. handle, marks)
        marks.end_holder(owner .. "#" .. handle)
        if give_back_handle(queue, owner .. "#" .. handle) then marks.end_holder("C") end
        note_deleted(queue, KEYS[10])
    end
end
if redis.call("EXISTS", holdings) == 1 then return { MORE } end
-- A program that opened one of them may be dead, too: first all of these give back what they have.
if redis.call("EXISTS", KEYS[10]) == 1 then return { MADE } end

-- Nobody remembers which message it was woken for, so every waiter here looks again; a look in vain costs a call.
if woken_for and not is_handed and is_anything_on(woken_for) then wake_everyone(woken_for, own, KEYS[6]) end
redis.call("DEL", KEYS[5])
redis.call("HDEL", dead, owner)
return { 0 }
