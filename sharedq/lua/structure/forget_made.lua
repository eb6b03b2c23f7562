--[[
structure/forget_made.lua - queues that an MQOPEN of a model made are gone, or go with their maker no more.

An orphan (admin/add_orphan) keeps the name of its maker, so that nothing else is deleted in its place.

KEYS
  1 own, 2 made, 3 queue_base
ARGV
  1  caller  owner token: the maker itself, or its recoverer; "" for a manager that deletes an orphan
  2  maker
  3  orphans  1: they are orphans now
  4.. their names
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(queues)
USES        fence
]]
if ARGV[1] ~= "" and is_fenced(KEYS[1], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
redis.call("SREM", KEYS[2], unpack(ARGV, 4))
if ARGV[3] == "1" then return { 0 } end
for position = 4, #ARGV do
    local queue = KEYS[3] .. ARGV[position]
    if redis.call("HGET", queue, "by") == ARGV[2] then redis.call("HDEL", queue, "by") end
end
return { 0 }
