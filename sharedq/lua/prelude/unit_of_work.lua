--[[
Units of work: a list whose first element is the state ("A" active, "C" committing, "B" backing out, then the id),
followed by one element an operation batch: "P", "G" or "S" (a get with MQGMO_MARK_SKIP_BACKOUT), the number of messages,
the queue, and id:score pairs.
]]
local function record_operation(unit, unit_id, kind, queue_name, count, pairs_text)
    local length = redis.call("RPUSH", unit, kind .. count .. "\n" .. queue_name .. "\n" .. pairs_text)
    if length == 1 then redis.call("LPUSH", unit, "A" .. unit_id) end
end

local function read_operation(element)
    local kind, count, queue_name, pairs_text = string.match(element, "^(%a)(%d+)\n([^\n]*)\n(.*)$")
    return kind, tonumber(count), queue_name, pairs_text
end

-- The state element and the operations of the next chunk: whole batches, up to `budget` messages. As many as `skips` are
-- of marked messages: they are passed over, and count nothing.
local function next_chunk(unit, budget, skips)
    local elements = redis.call("LRANGE", unit, 0, budget + skips)
    local operations, messages = {}, 0
    for position = 2, #elements do
        local kind, count, queue_name, pairs_text = read_operation(elements[position])
        if not (kind == "S" and skips > 0) then
            if messages > 0 and messages + count > budget then break end
            messages = messages + count
            operations[#operations + 1] = {
                kind = kind, count = count, queue = queue_name, pairs = pairs_text, element = elements[position],
            }
        end
    end
    return elements[1], operations, messages
end

-- Drops a chunk that was applied; the rest keeps its state element, which says how it must go on.
local function drop_chunk(unit, operations, state)
    local left = redis.call("LLEN", unit) - 1 - #operations
    if left <= 0 then
        redis.call("DEL", unit)
        return 0
    end
    redis.call("LTRIM", unit, 1 + #operations, -1)
    redis.call("LPUSH", unit, state)
    return left
end

-- Who may end a unit of work: its owner while it is registered, anybody registered once it is dead.
local function may_not_end(own, dead, caller, owner)
    if redis.call("HEXISTS", own, caller) == 0 then return true end
    return caller ~= owner and redis.call("HEXISTS", dead, owner) == 0
end
