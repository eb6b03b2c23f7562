--[[
structure/release.lua - a dead owner's unit of work is resolved: give back its handles, forget it.

A wake-up that it got and never used is passed on to those who wait on that queue.

KEYS
  1  own        hash  registered owners (the fence)
  2  dead       hash  fenced owners whose work is still to be resolved
  3  unit       list  the dead owner's unit of work
  4  holdings   set   its handles
  5  wake       list  its wake key
  6  wake_base  base
  7.. for each queue it holds something of: queue, available, waiters, handles
ARGV
  1  caller     owner token of the recoverer
  2  owner      the dead owner
  3.. names of the queues
REPLY       { 0 } | { 1 } its unit of work is not resolved yet | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(handles of the owner + waiters, at most 256)
USES        fence, place, handles
]]
local own, dead, holdings = KEYS[1], KEYS[2], KEYS[4]
local caller, owner = ARGV[1], ARGV[2]
local NOT_RESOLVED, WOKEN_MAX = 1, 256
if is_fenced(own, caller) then return { MQRC.CONNECTION_BROKEN } end
local state = redis.call("HGET", dead, owner)
if not state then return { 0 } end
if redis.call("EXISTS", KEYS[3]) == 1 then return { NOT_RESOLVED } end

local queues = {}
for position = 3, #ARGV do
    local key = 7 + (position - 3) * 4
    queues[ARGV[position]] =
        { name = ARGV[position], q = KEYS[key], a = KEYS[key + 1], w = KEYS[key + 2], h = KEYS[key + 3] }
end
for _, holding in ipairs(redis.call("SMEMBERS", holdings)) do
    local queue_name, handle = string.match(holding, "^(.*)\n([^\n]*)$")
    if queues[queue_name] then give_back_handle(queues[queue_name], owner .. "#" .. handle) end
end

-- Nobody remembers which message it was woken for, so whoever waits here looks again; in vain costs a call.
local woken_for = string.sub(state, 1, 1) == "K" and queues[string.sub(state, 2)]
if woken_for and is_anything_on(woken_for) then
    for _, member in ipairs(redis.call("ZRANGE", woken_for.w, 0, WOKEN_MAX - 1)) do
        wake(woken_for, own, KEYS[6], member, waiter_token(member))
    end
end
redis.call("DEL", holdings, KEYS[5])
redis.call("HDEL", dead, owner)
return { 0 }
