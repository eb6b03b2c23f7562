--[[
Units of work: a list whose first element is the state ("A" active, "C" committing, "B" backing out, then the id),
followed by one element an operation batch: "P", "G" or "S" (a get with MQGMO_MARK_SKIP_BACKOUT), the number of messages,
the queue, ids, and scores; only the first score where each is one more than the one before.
]]
-- Ids and scores are lists; scores are written already.
local function operation_text(kind, queue_name, ids, scores)
    return table.concat({ kind .. #ids, queue_name, table.concat(ids, " "), table.concat(scores, " ") }, "\n")
end

local function record_operation(unit, unit_id, kind, queue_name, ids, scores)
    if redis.call("RPUSH", unit, operation_text(kind, queue_name, ids, scores)) == 1 then
        redis.call("LPUSH", unit, "A" .. unit_id)
    end
end

local function read_operation(element)
    local kind, count, queue_name, ids, scores = string.match(element, "^(%a)(%d+)\n([^\n]*)\n([^\n]*)\n(.*)$")
    return { kind = kind, count = tonumber(count), queue = queue_name, ids_text = ids, scores_text = scores }
end

local function ids_of(operation)
    local ids, at = {}, 0
    -- Faster than %S, by a third.
    for id in string.gmatch(operation.ids_text, "[^ ]+") do
        at = at + 1
        ids[at] = id
    end
    return ids
end

-- The messages of an operation as ZADD takes them: score, id, score, id.
local function added_of(operation)
    local added = {}
    INLINE.list_added(added, operation.ids_text, operation.scores_text)
    return added
end

-- The state element and the operations of the next chunk: whole batches, up to `budget` messages. As many as `skips` are
-- of marked messages: they are passed over, and count nothing.
local function next_chunk(unit, budget, skips)
    -- Most often these are enough; a unit of work may have a hundred times as many.
    local first = 10
    local elements = redis.call("LRANGE", unit, 0, first - 1)
    local operations, messages, position = {}, 0, 2
    while true do
        if position == first + 1 then
            for at, element in ipairs(redis.call("LRANGE", unit, first, budget + skips)) do elements[first + at] = element end
        end
        if not elements[position] then break end
        local operation = read_operation(elements[position])
        if not (operation.kind == "S" and skips > 0) then
            if messages > 0 and messages + operation.count > budget then break end
            messages = messages + operation.count
            operation.element = elements[position]
            operations[#operations + 1] = operation
        end
        position = position + 1
    end
    return elements[1], operations, messages
end

-- Drops so many operations, which were applied; the rest keeps its state element, which says how it must go on. `part`
-- is what is left of the last of them, if anything is.
local function drop_chunk(unit, count, state, part)
    local left = redis.call("LLEN", unit) - 1 - count + (part and 1 or 0)
    if left <= 0 then
        redis.call("DEL", unit)
        return 0
    end
    redis.call("LTRIM", unit, 1 + count, -1)
    if part then redis.call("LPUSH", unit, part) end
    redis.call("LPUSH", unit, state)
    return left
end

-- The reply where nothing is left to end. The caller goes on to forget the unit of work elsewhere, so replicas must have
-- its end before; and Redis has only writers wait for replicas.
local function nothing_left(own, caller)
    redis.call("HSET", own, caller, redis.call("HGET", own, caller))
    return { 0, 0, 0 }
end

-- The owner of a unit of work may end it while it is registered, anybody registered once the owner is dead.
local function may_not_end(own, dead, caller, owner)
    if redis.call("HEXISTS", own, caller) == 0 then return true end
    return caller ~= owner and redis.call("HEXISTS", dead, owner) == 0
end
