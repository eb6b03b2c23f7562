--[[
A connection's own waiting: what stands in own[owner] is "" (none), "W"+queue+"\n"+member (waiting) or
"K"+queue (woken, not yet back); a newline after that: others are still to be woken (prelude/place); a newline and an id: the
message that woke it, if others waited too, or that it was handed in vain. "H"+queue: it was handed a message, which stands
in its wake list until its connection has it; it waits no more. If it was handed that in its unit of work, it has got it,
whatever becomes of the wake list.
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
        -- A message that never arrived goes back by structure/get alone, which the wait owes it.
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

-- Puts back where they were the messages that it was handed on this queue and never got; it counts as woken for them.
-- Returns the id of the last; nil if there was none. A queue that was deleted meanwhile takes them along. A message that it
-- got so in its unit of work is for that to give back.
local function take_back(queue, owner, wake_key)
    local handed, last, back = redis.call("LPOP", wake_key), nil, 0
    while handed do
        local id, score, head_end = string.match(handed, "^(%S+) (%S+)()\n")
        if id and redis.call("HEXISTS", queue.q, "ver") == 1 then
            local record = string.sub(handed, head_end + 1)
            redis.call("HSET", queue.hand.messages, id, record)
            redis.call("ZADD", queue.a, score, id)
            if needs_look(id) then
                look_after(queue, queue.hand.messages, nil, 1, id, tonumber(score), record)
            end
            journal(queue.hand.journal, queue.hand.journal_max, "e", "return", "o", owner, "q", queue.name, "i", id)
            last, back = id, back + 1
        end
        handed = redis.call("LPOP", wake_key)
    end
    if back > 0 then INLINE.note_change(queue.q, queue.a, queue.name, owner, back, 0) end
    return last
end

-- The message that it was handed in its unit of work and has not seen yet: id, record. Nil where there is none.
local function take_arrived(own, owner, wake_key)
    local handed = redis.call("LRANGE", wake_key, 0, 0)[1] or ""
    local id, record = string.match(handed, "^([^ \n]+)\n(.*)$")
    if id then
        redis.call("DEL", wake_key)
        redis.call("HSET", own, owner, "")
    end
    return id, record
end

local function start_waiting(queue, own, owner, entry)
    INLINE.register(queue.w, queue.q, own, owner, queue.name, entry)
end
