--[[
Finding the first message that an MQGET asks for, whatever it asks for, among members of groups and others.

`want` is a table that says what is asked for; "" asks nothing, and all that is asked must hold:
  id       exactly this message              number  of a MsgId that igq generated
  msgid, correl, group                       seq, offset
  level    2 the whole group must be there, 1 the logical message, 0 neither
  firsts   true: only what begins something: MsgSeqNumber 1, Offset 0
  whole    true: what is found begins a logical message to be put together (Offset 0; reports of one type)
  skips    nil, or a function of id and score: messages that it says true to are passed over
  goes_on  true: this search has not been decided by what is complete, and goes on by place
  leap     nil, or a function: of a set's key and a place, a place up to which all is passed over, and true if that was a
           search of its own that goes no further in this call
  begins, is_over   nil, or functions: a source with this name begins to look at messages; whether it has to end in this call,
           because they were long. It looks at one at least.
Every search has its sources: sets or stretches of the index, by place, that hold all that can fit and little else.
From each the first that fits is taken, and of these the first by place. A source is looked at up to LOOKED_MAX
messages that do not fit; where that was not enough, the place is told from which on to look again. Any number of these
may be incomplete: so what is complete is looked into at the same time.
USES record, groups
]]
local LOOKED_MAX = 256
-- Most often the first one fits.
local PAGES = { 1, 15, LOOKED_MAX - 16 }

local function field(record, at, length)
    return at and string.sub(record, at, at + length - 1) or ""
end

local function fits(queue, messages, want, id, record)
    local correl, msgid, group = identifier_offsets(record)
    if want.msgid ~= "" then
        if msgid then
            if field(record, msgid, 24) ~= want.msgid then return false end
        elseif want.number == "" or string.match(id, "^%d+") ~= want.number or not is_generated(record, want.msgid) then
            return false
        end
    end
    if want.correl ~= "" and field(record, correl, 24) ~= want.correl then return false end
    if want.group ~= "" and field(record, group, 24) ~= want.group then return false end
    local seq, offset = 1, 0
    if group then seq, offset = struct.unpack(">I4I4", record, group + 24) end
    if want.seq ~= "" and seq ~= tonumber(want.seq) then return false end
    if want.offset ~= "" and offset ~= tonumber(want.offset) then return false end
    if want.firsts and (seq ~= 1 or offset ~= 0) then return false end
    if want.level == 0 or not is_member(queue, record) then return true end
    local groups, member = groups_of(queue, messages), member_of(record)
    return groups.level(member) >= want.level and (not want.whole or groups.is_whole(member))
end

local function score_of(queue, id)
    local score = redis.call("ZSCORE", queue.a, id) or redis.call("ZSCORE", queue.r, id)
    return score and tonumber(score)
end

local function find_wanted(queue, messages, want, after)
    local best, horizon
    local looked = 0
    local function offer(id, score)
        looked = looked + 1
        if want.skips and want.skips(id, score) then return false end
        local record = redis.call("HGET", messages, id)
        -- An entry without its message must not keep others from being found.
        if not record or not fits(queue, messages, want, id, record) then return false end
        if not best or score < best.score then best = { id = id, score = score, record = record } end
        return true
    end

    -- A source is called with how many messages to look at next. It returns whether that was enough, and how far it is.
    local function in_set(key)
        local from, is_far = after, false
        if want.leap then from, is_far = want.leap(key, after) end
        return function(count)
            if is_far then return false, from end
            if want.begins then want.begins(key) end
            local found = redis.call(
                "ZRANGEBYSCORE", key, "(" .. string.format("%.0f", from), "+inf", "WITHSCORES", "LIMIT", 0, count
            )
            for at = 1, #found, 2 do
                from = tonumber(found[at + 1])
                if offer(found[at], from) then return true end
                if want.is_over and want.is_over() then return false, from end
            end
            return #found < 2 * count, from
        end
    end

    local function begin_after(prefix)
        return after > 0 and "(" .. prefix .. struct.pack(">I7", after) .. "\255" or "[" .. prefix
    end

    -- Of members with this prefix in the index.
    local function after_prefix(prefix)
        local from = begin_after(prefix)
        return function(count)
            if want.begins then want.begins(prefix) end
            local found, score = redis.call("ZRANGEBYLEX", queue.i, from, "(" .. prefix .. "\255", "LIMIT", 0, count), nil
            for _, entry in ipairs(found) do
                score = struct.unpack(">I7", entry, #prefix + 1)
                local id = string.sub(entry, #prefix + 1 + ORDER_BYTES)
                if offer(id ~= "" and id or usual_id(score), score) then return true end
                from = "(" .. entry
                if want.is_over and want.is_over() then return false, score end
            end
            return #found < count, score
        end
    end

    -- Where `others` holds all that the source does, in another order, the first of the two that has enough ends it.
    -- Returns how far the source is when neither has.
    local function search(source, others)
        local is_enough, reached
        for _, count in ipairs(PAGES) do
            is_enough, reached = source(count)
            if is_enough then return nil end
            if want.is_over and want.is_over() then break end
            if others and others(count) then return nil end
        end
        return reached
    end

    local function look(source, others)
        local reached = search(source, others)
        if reached and (not horizon or reached < horizon) then horizon = reached end
    end

    -- A complete group or logical message stands in the index by where it begins (`kind`), whatever is incomplete in
    -- front of it. Each is looked into, up to where the next one begins after what was found. False: so many were in
    -- vain that it is not known yet.
    local function in_complete(kind, from, look_into)
        return function(count)
            local found = redis.call("ZRANGEBYLEX", queue.i, from, "(" .. kind .. "\255", "LIMIT", 0, count + 1)
            for at, entry in ipairs(found) do
                local score = struct.unpack(">I7", entry, 2)
                if best and best.score <= score then return true end
                if at > count or looked >= 2 * LOOKED_MAX then return false end
                look_into(string.sub(entry, 2 + ORDER_BYTES), score)
                from = "(" .. entry
            end
            return looked < 2 * LOOKED_MAX
        end
    end

    local function look_into(prefix)
        if search(after_prefix(prefix)) then looked = 2 * LOOKED_MAX end
    end

    -- Where in the index those of a group are that can fit.
    local function prefixes_in(group)
        if want.seq == "" then return { "H" .. group } end
        local message = group .. struct.pack(">I4", want.seq)
        if want.offset ~= "" then return { "G" .. message .. struct.pack(">I4", want.offset) } end
        return { "L" .. message, "G" .. message .. struct.pack(">I4", 0) }
    end

    local function look_into_group(group)
        for _, prefix in ipairs(prefixes_in(group)) do look_into(prefix) end
    end

    local function look_into_message(id, score)
        local record = redis.call("HGET", messages, id ~= "" and id or usual_id(score))
        if not record then return end
        local first = member_of(record)
        if want.seq ~= "" and first.seq ~= tonumber(want.seq) then return end
        look_into(want.offset == "" and "L" .. first.message or "G" .. first.message .. struct.pack(">I4", want.offset))
    end

    local function look_at_head(id, score)
        offer(id ~= "" and id or usual_id(score), score)
    end

    local function complete_ones()
        if want.level == 0 or want.goes_on then return nil end
        if want.level == 2 then return in_complete("K", "[K", look_into_group) end
        local heads = in_complete("h", begin_after("h"), look_at_head)
        local segmented = in_complete("w", "[w", look_into_message)
        return function(count)
            local is_enough = heads(count)
            return segmented(count) and is_enough
        end
    end

    local function look_for_number()
        for _, id in ipairs(ids_of_number(queue, want.number)) do
            local score = score_of(queue, id)
            if score and score > after then offer(id, score) end
        end
    end

    local function look_at_members()
        local correl = want.correl
        if want.firsts or (want.seq == "1" and want.offset == "0") then
            local kind = correl == "" and "F" or "f"
            for level = want.level, 2 do look(after_prefix(kind .. level .. correl)) end
        else
            local source = correl ~= "" and after_prefix("c" .. correl)
                or want.seq ~= "" and after_prefix("S" .. struct.pack(">I4", want.seq))
                or want.whole and after_prefix("h") or in_set(queue.r)
            look(source, complete_ones())
        end
    end

    -- A message that is no member has MsgSeqNumber 1 and Offset 0.
    local takes_others = (want.seq == "" or want.seq == "1") and (want.offset == "" or want.offset == "0")
    if want.id ~= "" then
        local score = score_of(queue, want.id)
        if score and score > after then offer(want.id, score) end
    elseif want.msgid ~= "" then
        look(after_prefix(want.correl == "" and "M" .. want.msgid or "X" .. want.msgid .. want.correl))
        if want.number ~= "" then look_for_number() end
    elseif want.group ~= "" then
        for _, prefix in ipairs(prefixes_in(want.group)) do look(after_prefix(prefix)) end
        if takes_others then look(after_prefix("O" .. want.group)) end
    else
        if want.correl ~= "" then
            look(after_prefix("C" .. want.correl))
        elseif takes_others then
            look(in_set(queue.a))
        end
        look_at_members()
    end
    if horizon and not (best and best.score <= horizon) then return nil, horizon end
    return best
end

-- All segments of the logical message that `head` begins, in order; nil when there is a hole in it. Beyond SEGMENTS_MAX
-- it reads no further.
local SEGMENTS_MAX = 2000
local function segments_of(queue, messages, head)
    local PAGE = 500
    local first = member_of(head.record)
    head.length, head.member = first.length, first
    if first.is_last_segment then return { head } end
    -- Of several at one offset the first by place; but it is this head that was found.
    local prefix = first.of_type and "T" .. first.of_type or "G" .. first.message
    local found, offset, from = { head }, first.length, "(" .. prefix .. "\0\0\0\0\255"
    repeat
        local entries = redis.call("ZRANGEBYLEX", queue.i, from, "(" .. prefix .. "\255", "LIMIT", 0, PAGE)
        for _, entry in ipairs(entries) do
            from = "(" .. entry
            local at, score = struct.unpack(">I4I7", entry, #prefix + 1)
            if at == offset then
                local place = string.sub(entry, #prefix + 5)
                local id = string.sub(place, 1 + ORDER_BYTES)
                if id == "" then id = usual_id(score) end
                local record = redis.call("HGET", messages, id)
                local member = member_of(record)
                if member.of_type == first.of_type then
                    found[#found + 1] = {
                        id = id, score = score, record = record, length = member.length, member = member, place = place,
                    }
                    offset = offset + member.length
                    if member.is_last_segment or #found > SEGMENTS_MAX then return found end
                end
            end
        end
    until #entries < PAGE
    return nil
end
