--[[
Locks of browsing handles (MQGMO_LOCK). A locked message is in none of the sets that say what is available, as though it
were got, so nobody meets it or passes over it; the hash `l` of the queue has for the handle (token#number) the ids
and scores, and `lk` in the queue's hash counts the messages.
For its own handle it is on the queue: a call of that handle takes the lock off first, looks, and locks again what must
stay locked. Between the two nobody else looks, because that is one script.
A queue is given as a table: name, q, a, i, w, g, r, l (keys). `marks` is what prelude/marks made for it; nil where
nothing is marked.
USES place
]]
-- The messages that the handle had locked stand where they stood; nobody is told of them. Returns them, in their order.
local function take_lock_off(queue, messages, expiry, handle, marks)
    local text = redis.call("HGET", queue.l, handle)
    if not text then return {} end
    redis.call("HDEL", queue.l, handle)
    local items, looked_at = {}, {}
    queue.was_locked = {}
    for id, score in string.gmatch(text, "(%S+):(%d+)") do
        local item = { id = id, score = tonumber(score), record = redis.call("HGET", messages, id) }
        if not (needs_look(id) and is_member(queue, item.record)) then redis.call("ZADD", queue.a, score, id) end
        if needs_look(id) then looked_at[#looked_at + 1] = item end
        if marks then marks.show(item) end
        items[#items + 1], queue.was_locked[id] = item, true
    end
    look_after_all(queue, messages, expiry, 1, looked_at)
    redis.call("HINCRBY", queue.q, "lk", -#items)
    return items
end

local function lock(queue, messages, expiry, handle, items, marks)
    if #items == 0 then return end
    local pairs_text, staying, others = {}, {}, {}
    for position, item in ipairs(items) do
        redis.call("ZREM", queue.a, item.id)
        local into = queue.was_locked and queue.was_locked[item.id] and staying or others
        if needs_look(item.id) then into[#into + 1] = item end
        if marks then marks.hide(item.id) end
        pairs_text[position] = string.format("%s:%.0f", item.id, item.score)
    end
    -- A message that stays locked reveals nothing: else each look of a waiting handle would wake the other waiters.
    local revealed = queue.revealed
    queue.revealed = nil
    look_after_all(queue, messages, expiry, -1, staying)
    queue.revealed = revealed
    look_after_all(queue, messages, expiry, -1, others)
    redis.call("HSET", queue.l, handle, table.concat(pairs_text, " "))
    redis.call("HINCRBY", queue.q, "lk", #items)
end

-- To those who wait it is as if these had just arrived.
local function tell_waiters(queue, own, wake_base, items)
    local waiting = #items > 0 and tonumber(redis.call("HGET", queue.q, "nw") or 0) or 0
    for _, item in ipairs(items) do
        if waiting <= 0 then return end
        waiting = waiting - wake_for(queue, own, wake_base, item.id, item.record, item.level)
    end
end

-- The end of a lock for good; returns how many messages it held.
local function unlock(queue, messages, own, expiry, wake_base, handle, marks)
    local items = take_lock_off(queue, messages, expiry, handle, marks)
    tell_waiters(queue, own, wake_base, items)
    -- A program that was started for them may have ended without them.
    if #items > 0 then INLINE.note_look(queue.q) end
    return #items
end
