--[[
A connection's own waiting: what stands in own[owner] is "" (none), "W"+queue+"\n"+member (waiting) or
"K"+queue (woken, not yet back).
USES place
]]
-- Whoever waits on the queue looks again, where nobody knows for which message another one was woken in vain.
local WOKEN_MAX = 256
local function wake_everyone(queue, own, wake_base)
    for _, member in ipairs(redis.call("ZRANGE", queue.w, 0, WOKEN_MAX - 1)) do
        wake(queue, own, wake_base, member, waiter_token(member))
    end
end

-- Which waiting entry this call left behind must go; returns the queue it belongs to when it is another one.
local function stop_waiting(queue, own, owner, state, wake_key)
    local kind, rest = string.sub(state, 1, 1), string.sub(state, 2)
    local name, member = rest, nil
    if kind == "W" then name, member = string.match(rest, "^([^\n]*)\n(.*)$") end
    if name ~= queue.name then return name end
    if member and redis.call("ZREM", queue.w, member) == 1 then redis.call("HINCRBY", queue.q, "nw", -1) end
    redis.call("DEL", wake_key)
    redis.call("HSET", own, owner, "")
    return nil
end

local function start_waiting(queue, own, owner, selection_text)
    local member = selection_text .. owner
    redis.call("ZADD", queue.w, 0, member)
    redis.call("HINCRBY", queue.q, "nw", 1)
    redis.call("HSET", own, owner, "W" .. queue.name .. "\n" .. member)
end
