--[[
structure/forget_destinations.lua - forget the codes of destinations that no message can carry any more.

Messages with a code are on their way, on a part of SYSTEM.QSG.TRANSMIT.QUEUE, or have come to the queue that it means. So
where all parts of this structure are empty, a code is needed only by a queue that is here. A message that is given its
code anew right afterwards gets another one: codes that were forgotten do not return until all numbers were given.

KEYS
  1 own, 2 destinations, 3 queue_base
  4.. for each part: queue, available
ARGV
  1  caller  owner token of the agent
  2.. names of destinations
REPLY       { 0, how many were forgotten } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 4 bounded (the caller names at most 100)
COST        O(parts + names)
USES        fence
]]
if is_fenced(KEYS[1], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
for key = 4, #KEYS, 2 do
    if redis.call("ZCARD", KEYS[key + 1]) > 0 then return { 0, 0 } end
    for _, count in ipairs(redis.call("HMGET", KEYS[key], "pu", "gu", "lk")) do
        if tonumber(count or 0) > 0 then return { 0, 0 } end
    end
end
local count = 0
for position = 2, #ARGV do
    local name = ARGV[position]
    local code = redis.call("HGET", KEYS[2], name)
    if code and redis.call("HEXISTS", KEYS[3] .. name, "ver") == 0 then
        redis.call("HDEL", KEYS[2], name, "#" .. code)
        count = count + 1
    end
end
return { 0, count }
