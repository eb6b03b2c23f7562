--[[
A connection's own waiting: what stands in own[owner] is "" (none), "W"+queue+"\n"+member (waiting) or
"K"+queue (woken, not yet back); a newline after that: others are still to be woken (prelude/place); a newline and an id: by
which message, where others waited, too. "H"+queue: it was
handed a message, which stands in its wake list until its connection has it; it waits no more.
USES place
]]
-- Wakes all that wait on the queue: nobody knows for which message another one was woken in vain.
local function wake_everyone(queue, own, wake_base)
    wake_kind(queue, own, wake_base, "*")
end

-- Remove the waiting entry of an earlier call; return its queue if that is another one.
local function stop_waiting(queue, own, owner, state, wake_key)
    local kind, rest = string.sub(state, 1, 1), string.sub(state, 2)
    local name, member = string.match(rest, "^([^\n]*)\n?(.*)$")
    if kind == "H" then
        -- What never arrived goes back by structure/get alone, which the wait owes it.
        if INLINE.is_on_its_way(wake_key) then return name end
        redis.call("DEL", wake_key)
        redis.call("HSET", own, owner, "")
        return nil
    end
    if name ~= queue.name then return name end
    -- The owner's own key is the base of all of them, and the owner.
    if kind == "K" and name ~= rest and member == "" then go_on_waking(queue, own, string.sub(wake_key, 1, -#owner - 1)) end
    if kind == "W" and redis.call("ZREM", queue.w, member) == 1 then redis.call("HINCRBY", queue.q, "nw", -1) end
    redis.call("DEL", wake_key)
    redis.call("HSET", own, owner, "")
    return nil
end

-- What it was handed on this queue and never got: back where it was, and it counts as woken for that. True if there was
-- any. A queue that was deleted meanwhile takes it along.
local function take_back(queue, owner, wake_key)
    local handed, is_any = redis.call("LPOP", wake_key), false
    while handed do
        local head_end = string.find(handed, "\n", 1, true)
        if head_end and redis.call("HEXISTS", queue.q, "ver") == 1 then
            local id, score = string.match(string.sub(handed, 1, head_end - 1), "^(%S+) (%S+)$")
            redis.call("HSET", queue.hand.messages, id, string.sub(handed, head_end + 1))
            redis.call("ZADD", queue.a, score, id)
            if needs_look(id) then
                local record = string.sub(handed, head_end + 1)
                look_after(queue, queue.hand.messages, nil, 1, id, tonumber(score), record)
            end
            journal(queue.hand.journal, queue.hand.journal_max, "e", "return", "o", owner, "q", queue.name, "i", id)
            is_any = true
        end
        handed = redis.call("LPOP", wake_key)
    end
    return is_any
end

local function start_waiting(queue, own, owner, selection_text)
    local member = selection_text .. owner
    redis.call("ZADD", queue.w, 0, member)
    redis.call("HINCRBY", queue.q, "nw", 1)
    redis.call("HSET", own, owner, "W" .. queue.name .. "\n" .. member)
end
