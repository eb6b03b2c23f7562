--[[
admin/note_delivered.lua - how many publications a connection has put for subscriptions, for DISPLAY SBSTATUS.

KEYS
  1 own, 2 fence, 3 subs, 4 delivered
ARGV
  1  caller  owner token
  2.. for each subscription: its id, how many more, when the last of them was put
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
MEMORY      refused when Redis is full
COST        O(subscriptions named)
USES        recoverer
]]
if is_shut_out(KEYS[1], KEYS[2], ARGV[1], "") then return { MQRC.CONNECTION_BROKEN } end
for at = 2, #ARGV, 3 do
    local id = ARGV[at]
    -- The subscription may have ended meanwhile.
    if redis.call("HEXISTS", KEYS[3], id) == 1 then
        local count, last = string.match(redis.call("HGET", KEYS[4], id) or "0 0", "^(%d+) (%d+)$")
        count = string.format("%.0f", count + ARGV[at + 1])
        last = tonumber(last) > tonumber(ARGV[at + 2]) and last or ARGV[at + 2]
        redis.call("HSET", KEYS[4], id, count .. " " .. last)
    end
end
return { 0 }
