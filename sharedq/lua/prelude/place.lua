--[[
Entering and leaving the sets that say what is available on a queue, and waking those who wait for it.
A queue is given as a table: name, q, a, i, w (keys).
USES record
]]
-- Index entries and expiry of one message that needs a look; `change` is "add" or "remove".
local function look_after(queue, expiry, change, id, score, record)
    local members = {}
    index_members(members, record, score, id)
    if change == "add" then
        for _, member in ipairs(members) do redis.call("ZADD", queue.i, 0, member) end
        if has(record, EXPIRY) then redis.call("ZADD", expiry, expiry_ms(record), queue.name .. " " .. id) end
    else
        if #members > 0 then redis.call("ZREM", queue.i, unpack(members)) end
        if has(record, EXPIRY) then redis.call("ZREM", expiry, queue.name .. " " .. id) end
    end
end

local function wake(queue, own, wake_base, member, token)
    redis.call("ZREM", queue.w, member)
    redis.call("HINCRBY", queue.q, "nw", -1)
    -- "K": woken, not yet back. If it never comes back, its recovery wakes another one.
    redis.call("HSET", own, token, "K" .. queue.name)
    redis.call("RPUSH", wake_base .. token, "1")
end

local function first_waiter(queue, prefix)
    local found = redis.call("ZRANGEBYLEX", queue.w, "[" .. prefix, "(" .. prefix .. "\255", "LIMIT", 0, 1)
    return found[1], found[1] and string.sub(found[1], #prefix + 1)
end

-- Members are a selection and the token behind it; how long the selection is follows from its first byte.
local SELECTION_BYTES = { A = 1, B = 1, C = 25, M = 25, X = 49 }
local function waiter_token(member)
    local length = SELECTION_BYTES[string.sub(member, 1, 1)] or string.find(member, " ", 1, true)
    return string.sub(member, length + 1)
end

-- IBM: one waiting get is activated, specific ones before general ones; waiting browses are all activated.
local WOKEN_BROWSES_MAX = 256
local function wake_for(queue, own, wake_base, id, record)
    -- Most often one get waits for any message, and nobody else; "A" sorts first.
    local waiters = redis.call("ZRANGE", queue.w, 0, 1)
    if #waiters == 1 and string.byte(waiters[1]) == 65 then
        wake(queue, own, wake_base, waiters[1], string.sub(waiters[1], 2))
        return 1
    end
    local woken, member, token = 0, nil, nil
    if needs_look(id) then
        local correl, msgid = identifier_offsets(record)
        if msgid then member, token = first_waiter(queue, "M" .. string.sub(record, msgid, msgid + 23)) end
        if not member and correl then
            member, token = first_waiter(queue, "C" .. string.sub(record, correl, correl + 23))
        end
        if not member and correl and msgid then
            member, token = first_waiter(
                queue,
                "X" .. string.sub(record, msgid, msgid + 23) .. string.sub(record, correl, correl + 23)
            )
        end
    end
    if not member then
        -- A wait for a MsgId that igq generated names the message number.
        member, token = first_waiter(queue, "N" .. string.match(id, "^%d+") .. " ")
    end
    if not member then member, token = first_waiter(queue, "A") end
    if member then
        wake(queue, own, wake_base, member, token)
        woken = 1
    end
    local browses = redis.call("ZRANGEBYLEX", queue.w, "[B", "(C", "LIMIT", 0, WOKEN_BROWSES_MAX)
    for _, browse in ipairs(browses) do wake(queue, own, wake_base, browse, string.sub(browse, 2)) end
    return woken + #browses
end

-- Puts messages where gets can find them: `added` lists score, id, score, id; `records` may lack plain ones.
local function make_available(queue, own, wake_base, expiry, waiting, added, records)
    redis.call("ZADD", queue.a, unpack(added))
    for position = 1, #added / 2 do
        local score, id = added[2 * position - 1], added[2 * position]
        if needs_look(id) then look_after(queue, expiry, "add", id, score, records[position]) end
        if waiting > 0 then
            waiting = waiting - wake_for(queue, own, wake_base, id, records[position])
        end
    end
end
