--[[
Open handles of a queue: `h` maps token#handle to a mode text of the letters I (input), X (exclusive input),
B (browse), C (browse, co-operating), O (output), Q (inquire), S (set); counters stand in the queue's hash.
]]
-- Notes in `made` that the queue has to go, if that was the last handle of one that is deleted logically.
local function note_deleted(queue, made)
    if redis.call("HEXISTS", queue.q, "del") == 0 or redis.call("HLEN", queue.h) > 0 then return false end
    redis.call("SADD", made, queue.name)
    return true
end

-- True when it was the last of those that co-operate.
local function give_back_handle(queue, handle)
    local mode = redis.call("HGET", queue.h, handle)
    if not mode then return end
    redis.call("HDEL", queue.h, handle)
    mode = string.match(mode, "^%a*")
    if string.find(mode, "[IX]") and redis.call("HINCRBY", queue.q, "ip", -1) <= 0 then INLINE.note_look(queue.q) end
    if string.find(mode, "X", 1, true) then redis.call("HDEL", queue.q, "xo") end
    if string.find(mode, "O", 1, true) then redis.call("HINCRBY", queue.q, "op", -1) end
    return string.find(mode, "C", 1, true) and redis.call("HINCRBY", queue.q, "co", -1) <= 0
end
