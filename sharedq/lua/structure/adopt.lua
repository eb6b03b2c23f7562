--[[
structure/adopt.lua - igq fsck: what nobody owns here becomes a dead owner's, so that a recovery finds and ends it.

KEYS
  1 own, 2 dead, 3 holdings, 4 wake, 5 queue_base, 6 handles_base, 7 locks_base, 8 waiters_base
ARGV
  1  caller    owner token of the one who repairs
  2  owner     whose it was
  3  is_gone   1 the group knows no such connection, so that it is dead also where it is registered here
  4  handles   how many
  5.. each as `holdings` has it; after them waiting gets: queue, a newline, the entry
REPLY       { 0, 1 it is dead now or 0 it lives } | { 1 } it was handed a message, for a queue that nobody knows | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing
COST        O(handles + waiting gets * log waiters)
USES        fence
]]
local own, dead, holdings, owner = KEYS[1], KEYS[2], KEYS[3], ARGV[2]
if is_fenced(own, ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local state = redis.call("HGET", own, owner)
local known, lives, UNKNOWN_QUEUE = redis.call("HGET", dead, owner), state and ARGV[3] ~= "1", 1
local is_handed = string.find(redis.call("LRANGE", KEYS[4], 0, 0)[1] or "", "\n", 1, true)
if is_handed and string.sub(state or known or "", 1, 1) ~= "H" then return { UNKNOWN_QUEUE } end

local handles_end = 4 + tonumber(ARGV[4])
for position = 5, handles_end do
    local queue, number = string.match(ARGV[position], "^(.*)\n([^\n]*)$")
    local handle = owner .. "#" .. number
    local is_there = redis.call("HEXISTS", KEYS[6] .. queue, handle) + redis.call("HEXISTS", KEYS[7] .. queue, handle) > 0
    redis.call(is_there and "SADD" or "SREM", holdings, ARGV[position])
end
local left = state or ""
for position = handles_end + 1, #ARGV do
    local queue, entry = string.match(ARGV[position], "^([^\n]*)\n(.*)$")
    local waits = left == "W" .. ARGV[position]
    if not (lives and waits) and redis.call("ZREM", KEYS[8] .. queue, entry) == 1 then
        redis.call("HINCRBY", KEYS[5] .. queue, "nw", -1)
    end
end
if lives then return { 0, 0 } end
if string.sub(left, 1, 1) == "W" then
    local queue, entry = string.match(string.sub(left, 2), "^([^\n]*)\n(.*)$")
    if redis.call("ZREM", KEYS[8] .. queue, entry) == 1 then redis.call("HINCRBY", KEYS[5] .. queue, "nw", -1) end
    left = ""
end
if state then redis.call("HDEL", own, owner) end
if not known then redis.call("HSET", dead, owner, left) end
return { 0, 1 }
