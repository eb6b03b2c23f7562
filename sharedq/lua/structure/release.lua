--[[
structure/release.lua - a dead owner's unit of work is resolved: give back its wait and its handles, forget it.

A wake-up that it got and never used is passed on to another waiter of that queue.

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
COST        O(handles of the owner)
USES        fence, place, handles
]]
local own, dead, holdings = KEYS[1], KEYS[2], KEYS[4]
local caller, owner = ARGV[1], ARGV[2]
if is_fenced(own, caller) then return { MQRC.CONNECTION_BROKEN } end
local state = redis.call("HGET", dead, owner)
if not state then return { 0 } end
if redis.call("EXISTS", KEYS[3]) == 1 then return { 1 } end

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

local kind, rest = string.sub(state, 1, 1), string.sub(state, 2)
if kind == "W" then
    local name, member = string.match(rest, "^([^\n]*)\n(.*)$")
    local queue = queues[name]
    if queue and redis.call("ZREM", queue.w, member) == 1 then redis.call("HINCRBY", queue.q, "nw", -1) end
elseif kind == "K" and queues[rest] then
    local queue = queues[rest]
    if redis.call("ZCARD", queue.a) > 0 then
        local member, token = first_waiter(queue, "A")
        if member then wake(queue, own, KEYS[6], member, token) end
    end
end
redis.call("DEL", holdings, KEYS[5])
redis.call("HDEL", dead, owner)
return { 0 }
