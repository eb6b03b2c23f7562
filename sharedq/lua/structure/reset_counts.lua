--[[
structure/reset_counts.lua - RESET QSTATS: take the counts of some queues, and begin them anew.

KEYS
  1.. for each queue: queue, available
ARGV

REPLY       for each queue: { seconds counted, highest depth, messages put, messages got }, or {} where nothing is counted
REASONS     none
INVARIANTS  4 bounded (the caller gives at most 100 queues)
COST        O(queues)
]]
local now, found = redis.call("TIME")[1], {}
for position = 1, #KEYS, 2 do
    local queue = KEYS[position]
    local known = redis.call("HMGET", queue, "et", "qh", "qi", "qo", "pu", "lk", "gm")
    local counts = {}
    if known[1] then
        local held = INLINE.depth(KEYS[position + 1], known[5], known[6], known[7])
        counts = { now - known[1], math.max(held, known[2] or 0), tonumber(known[3] or 0), tonumber(known[4] or 0) }
        redis.call("HSET", queue, "et", now, "qh", held, "qi", 0, "qo", 0)
    end
    found[#found + 1] = counts
end
return found
