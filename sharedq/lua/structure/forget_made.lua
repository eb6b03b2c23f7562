--[[
structure/forget_made.lua - queues that an MQOPEN of a model made are gone, or go with their maker no more.

KEYS
  1  own   hash  registered owners (the fence)
  2  made  set   queues that go with their maker
  3  queue_base  base  queues
ARGV
  1  caller  owner token: the maker itself, or its recoverer
  2  maker
  3.. their names
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(queues)
USES        fence
]]
if is_fenced(KEYS[1], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
redis.call("SREM", KEYS[2], unpack(ARGV, 3))
for position = 3, #ARGV do
    local queue = KEYS[3] .. ARGV[position]
    if redis.call("HGET", queue, "by") == ARGV[2] then redis.call("HDEL", queue, "by") end
end
return { 0 }
