--[[
Whether a queue is idle: nobody has it open, nothing is on it, no unit of work touches it.
A queue is given as a table: q, a, h (keys).
]]
local function uncommitted(queue)
    local counts = redis.call("HMGET", queue.q, "pu", "gu")
    return tonumber(counts[1] or 0) + tonumber(counts[2] or 0)
end

-- Nothing that can be got; members of groups are counted in the queue's hash.
local function is_empty(queue)
    return redis.call("ZCARD", queue.a) == 0 and tonumber(redis.call("HGET", queue.q, "gm") or 0) == 0
end

-- The reason why `field` may not change from one definition to the other now, if it does change.
local function why_not_idle(queue, field, from, to)
    if field == "" or cjson.decode(from)[field] == cjson.decode(to)[field] then return nil end
    if redis.call("HLEN", queue.h) > 0 then return MQRC.OBJECT_IN_USE end
    if not is_empty(queue) or uncommitted(queue) > 0 then return MQRC.Q_NOT_EMPTY end
    return nil
end
