--[[
structure/queue_states.lua - definitions and counts of some queues, for displays and status. Reads only.

KEYS
  1.. for each queue: queue, available, handles
ARGV

REPLY       for each queue: { version or "", definition, available, put uncommitted, got uncommitted, locked,
            waiters, open for input, open for output, handles }
REASONS     none
INVARIANTS  4 bounded (the caller asks for at most 100 queues)
COST        O(queues)
]]
local states = {}
for position = 1, #KEYS, 3 do
    local known = redis.call("HMGET", KEYS[position], "ver", "def", "pu", "gu", "lk", "nw", "ip", "op", "gm")
    states[#states + 1] = {
        known[1] or "", known[2] or "", redis.call("ZCARD", KEYS[position + 1]) + (known[9] or 0),
        tonumber(known[3] or 0), tonumber(known[4] or 0), tonumber(known[5] or 0),
        tonumber(known[6] or 0), tonumber(known[7] or 0), tonumber(known[8] or 0),
        redis.call("HLEN", KEYS[position + 2]),
    }
end
return states
