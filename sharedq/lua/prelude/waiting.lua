--[[
A connection's own waiting: what stands in own[owner] is "" (none), "W"+queue+"\n"+member (waiting) or
"K"+queue (woken, not yet back); a newline behind that: others are still to be woken (prelude/place).
USES place
]]
-- Whoever waits on the queue looks again, where nobody knows for which message another one was woken in vain.
local function wake_everyone(queue, own, wake_base)
    wake_kind(queue, own, wake_base, "*")
end

-- Which waiting entry this call left behind must go; returns the queue it belongs to when it is another one.
local function stop_waiting(queue, own, owner, state, wake_key)
    local kind, rest = string.sub(state, 1, 1), string.sub(state, 2)
    local name, member = string.match(rest, "^([^\n]*)\n?(.*)$")
    if name ~= queue.name then return name end
    -- The owner's own key is the base of all of them, and the owner.
    if kind == "K" and name ~= rest then go_on_waking(queue, own, string.sub(wake_key, 1, -#owner - 1)) end
    if kind == "W" and redis.call("ZREM", queue.w, member) == 1 then redis.call("HINCRBY", queue.q, "nw", -1) end
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
