--[[
Finding the first message that a get or a browse asks for, in delivery order.

A selection is: id (exactly this message), number (a MsgId that igq generated), prefix (of the index: what has it is
what is asked for), and the identifiers that are asked for (msgid, correl; "" asks nothing). A look-up costs the same at
any depth.
USES record, groups
]]
local function has_identifiers(record, selection)
    local correl, msgid = identifier_offsets(record)
    if selection.correl ~= "" and (not correl or string.sub(record, correl, correl + 23) ~= selection.correl) then
        return false
    end
    return selection.msgid == "" or (msgid and string.sub(record, msgid, msgid + 23) == selection.msgid)
end

-- A generated MsgId names the number.
local function by_number(queue, messages, selection, after)
    for _, id in ipairs(ids_of_number(queue, selection.number)) do
        local score = redis.call("ZSCORE", queue.a, id)
        if score and tonumber(score) > after then
            local record = redis.call("HGET", messages, id)
            -- With a MsgId of the program's own, the number means nothing.
            local is_it = not has(record, MSGID) and is_generated(record, selection.msgid)
            if is_it and (selection.correl == "" or has_identifiers(record, { correl = selection.correl, msgid = "" })) then
                return id, tonumber(score), record
            end
        end
    end
end

local function by_index(queue, messages, selection, after)
    local prefix, id, score = selection.prefix, nil, nil
    INLINE.find_by_index(queue.i, prefix, after, id, score)
    if id then return id, tonumber(score), redis.call("HGET", messages, id) end
end

-- The first match after the score `after` (0: from the start): id, score, record; nil when there is none.
local function find(queue, messages, selection, after)
    if selection.id ~= "" then
        local score = redis.call("ZSCORE", queue.a, selection.id)
        if score then return selection.id, tonumber(score), redis.call("HGET", messages, selection.id) end
        return nil
    end
    if selection.prefix == "" then
        local found = redis.call("ZRANGEBYSCORE", queue.a, "(" .. string.format("%.0f", after), "+inf", "WITHSCORES", "LIMIT", 0, 1)
        if found[1] then return found[1], tonumber(found[2]), redis.call("HGET", messages, found[1]) end
        return nil
    end
    local id, score, record = by_index(queue, messages, selection, after)
    if selection.number ~= "" then
        local other, other_score, other_record = by_number(queue, messages, selection, after)
        if other and (not id or other_score < score) then return other, other_score, other_record end
    end
    return id, score, record
end
