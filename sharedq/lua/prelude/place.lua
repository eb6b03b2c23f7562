--[[
Entering and leaving the sets that say what is available on a queue, and waking those who wait for it.
A queue is given as a table: name, q, a, i, w (keys); also g and r wherever members of groups can come or go, and
`hand` (messages, journal, journal_max) where gets that wait may be handed what they wait for. `revealed` is an empty list
to which this file adds the messages that can be got now because a member left; the caller wakes the gets that wait for
them. `handed` counts those handed. A put wakes one waiting get and all waiting browses: see `wake_for`.
USES record, groups, journal
]]
-- Keeps what is known of messages that need a look, beside their places among the available ones: index entries,
-- expiry, and for members everything (prelude/groups). `step` is 1 when they come, -1 when they go. A message is a table with
-- id, score and record, and a member gets the `level` at which first items are new, or -1.
local function look_after_all(queue, messages, expiry, step, items)
    local members, expiring = {}, {}
    for _, item in ipairs(items) do
        local id, record = item.id, item.record
        if queue.r and (item.member or is_member(queue, record)) then
            members[#members + 1] = item
        else
            local entries = {}
            index_members(entries, record, place_text(item.score, id))
            if step == 1 then
                INLINE.index_entries(queue.i, entries)
            elseif #entries > 0 then
                redis.call("ZREM", queue.i, unpack(entries))
            end
        end
        if has(record, EXPIRY) then
            if step == 1 then expiring[#expiring + 1] = expiry_ms(record) end
            expiring[#expiring + 1] = queue.name .. " " .. id
        end
    end
    -- In pieces: Lua passes some thousand arguments at most.
    local PIECE = 2000
    for from = 1, #expiring, PIECE do
        local to = math.min(from + PIECE - 1, #expiring)
        if step == 1 then
            redis.call("ZADD", expiry, unpack(expiring, from, to))
        else
            redis.call("ZREM", expiry, unpack(expiring, from, to))
        end
    end
    if #members == 0 then return end
    for _, one in ipairs(groups_of(queue, messages).change(step, members)) do
        if queue.revealed then table.insert(queue.revealed, one) end
    end
end

local function look_after(queue, messages, expiry, step, id, score, record)
    look_after_all(queue, messages, expiry, step, { { id = id, score = score, record = record } })
end

-- Takes a message whose time has passed out of everything but its place, which is the caller's to leave. False where its
-- record must stay: a report is asked for, and it waits for that in `expiry`, in front of all times and by its place.
local function end_expired(queue, messages, expiry, id, score, record)
    look_after(queue, messages, expiry, -1, id, score, record)
    if not has(record, TELLS_EXPIRY) then return true end
    redis.call("ZADD", expiry, string.format("%.0f", CONST.WAITS_TO_BE_TOLD + score), queue.name .. " " .. id)
    return false
end

-- Takes the message that has come for a get that waits to be handed it: its entry is `asked` (any, or what the index finds)
-- and `after` (see lua/pasted.lua). Returns nil if that get would choose another message, or has conditions to check: it is
-- woken then, and looks itself. A message that needs a look is handed over only if identifiers are the one reason for the look.
local function take_for(queue, wake_base, asked, after, token, id, known)
    if needs_look(id) and (not known or bit.band(string.byte(known, 1), EXPIRY + GROUP + REPORT) ~= 0) then return nil end
    local state = redis.call("HMGET", queue.q, "gm", "mk", "lg", "al")
    if (state[1] or "0") ~= "0" or state[2] or state[3] or state[4] then return nil end
    local score = redis.call("ZSCORE", queue.a, id)
    if not score then return nil end
    if asked == "A" then
        if redis.call("ZRANGE", queue.a, 0, 0)[1] ~= id then return nil end
    elseif redis.call("ZRANGEBYLEX", queue.i, "[" .. asked, "(" .. asked .. "\255", "LIMIT", 0, 1)[1]
        ~= asked .. place_text(tonumber(score), id) then
        return nil
    end
    local messages, unit_id = queue.hand.messages, string.byte(after) == 43 and string.sub(after, 2) or ""
    local record = redis.call("HGET", messages, id)
    redis.call("ZREM", queue.a, id)
    queue.handed = (queue.handed or 0) + 1
    if needs_look(id) then look_after(queue, messages, nil, -1, id, tonumber(score), record) end
    journal(queue.hand.journal, queue.hand.journal_max, "e", "get", "o", token, "q", queue.name, "u", unit_id, "i", id,
        unpack(asked == "A" and {} or { "c", "1" }))
    if unit_id == "" then
        redis.call("HDEL", messages, id)
        return id .. " " .. score .. "\n" .. record
    end
    INLINE.got_in_unit(wake_base, queue.q, token, unit_id, queue.name, id, score)
    return id .. "\n" .. record
end

local function wake(queue, own, wake_base, member, token, more, id, record)
    redis.call("ZREM", queue.w, member)
    local left = redis.call("HINCRBY", queue.q, "nw", -1)
    local handed
    if INLINE.is_to_be_handed(token) then
        local after = token
        token = INLINE.token_in(after)
        handed = id and queue.hand
            and take_for(queue, wake_base, string.sub(member, 1, -1 - #after), after, token, id, record)
    end
    -- The getter may take another message. It must wake the next waiter for this one then.
    if not more and id and left > 0 and not handed then more = "\n" .. id end
    -- "K": woken, not yet back. If it never comes back, its recovery wakes another one. "H": handed over; the message
    -- goes back if it never arrives (prelude/waiting).
    redis.call("HSET", own, token, (handed and "H" or "K") .. queue.name .. (more or ""))
    -- A message stands first: another wake-up may be there before it.
    redis.call("LPUSH", wake_base .. token, handed or "1")
end

local function first_waiter(queue, prefix)
    local found = redis.call("ZRANGEBYLEX", queue.w, "[" .. prefix, "(" .. prefix .. "\255", "LIMIT", 0, 1)
    return found[1], found[1] and string.sub(found[1], #prefix + 1)
end

-- Members are a selection and the token after it. The first byte says how long the selection is, and what is waited for:
--   A any message   B a browse   C a CorrelId   D and a level: the beginning of a group or logical message
--   E something complete   G a GroupId, MsgSeqNumber and Offset   M a MsgId   N, a number and a blank: a generated MsgId
--   V certain messages in logical order   X a MsgId and a CorrelId
local SELECTION_BYTES = { A = 1, B = 1, C = 25, D = 2, E = 1, G = 33, M = 25, V = 1, X = 49 }
local function waiter_token(member)
    local length = SELECTION_BYTES[string.sub(member, 1, 1)] or string.find(member, " ", 1, true)
    return string.sub(member, length + 1)
end

-- One script wakes so many waiters; when there are more, each of those that come back wakes as many of the rest. The
-- field "wk" says where they go on: "B" (browses) or "*" (everyone), "1" when they begin anew at the end because more
-- has come meanwhile, and the last one woken. Waiters are woken in order. One that waits again
-- after that place is woken once too often, but none is missed.
local WOKEN_MAX = 256
local function waiters_after(queue, kind, after, limit)
    local low, high = "-", "+"
    if kind == "B" then low, high = "[B", "(C" end
    if after ~= "" then low = "(" .. after end
    return redis.call("ZRANGEBYLEX", queue.w, low, high, "LIMIT", 0, limit)
end

local function wake_next(queue, own, wake_base, kind, again, after)
    local found = waiters_after(queue, kind, after, WOKEN_MAX)
    for _, member in ipairs(found) do wake(queue, own, wake_base, member, waiter_token(member), "\n") end
    if #found == WOKEN_MAX then
        after = found[#found]
    elseif again == "0" then
        redis.call("HDEL", queue.q, "wk")
        return #found
    elseif #found == 0 then
        return wake_next(queue, own, wake_base, kind, "0", "")
    else
        again, after = "0", ""
    end
    redis.call("HSET", queue.q, "wk", kind .. again .. after)
    return #found
end

local function go_on_waking(queue, own, wake_base)
    local place = redis.call("HGET", queue.q, "wk")
    if place then
        wake_next(queue, own, wake_base, string.sub(place, 1, 1), string.sub(place, 2, 2), string.sub(place, 3))
    end
end

local function wake_kind(queue, own, wake_base, kind)
    local found = waiters_after(queue, kind, "", WOKEN_MAX + 1)
    if #found <= WOKEN_MAX then
        for _, member in ipairs(found) do wake(queue, own, wake_base, member, waiter_token(member)) end
        return #found
    end
    local place = redis.call("HGET", queue.q, "wk")
    local known = place and string.sub(place, 1, 1)
    -- For everyone it begins at the front, which is also before the browses that are left.
    if not place or (kind == "*" and known == "B") then return wake_next(queue, own, wake_base, kind, "0", "") end
    return wake_next(queue, own, wake_base, known, "1", string.sub(place, 3))
end

-- The first of those that wait for no certain message. "E" may leave the message to the others, because it wants
-- something complete. was_asked: the caller waited as "E" and has asked the other "E" waiters, so they are passed over.
local function first_general(queue, level, was_asked)
    local member, token = nil, nil
    if not was_asked then member, token = first_waiter(queue, "E") end
    if not member then member, token = first_waiter(queue, "A") end
    if not member and level >= 0 then
        local found = redis.call("ZRANGEBYLEX", queue.w, "[D", "(D" .. level + 1, "LIMIT", 0, 1)
        member, token = found[1], found[1] and string.sub(found[1], 3)
    end
    return member, token
end

-- A getter inside a group waits for the next position. A getter of a whole logical message waits for its beginning.
local function first_in_group(queue, record)
    local _, _, group = identifier_offsets(record)
    if not group then return nil end
    local member, token = first_waiter(queue, "G" .. string.sub(record, group, group + 31))
    if member then return member, token end
    return first_waiter(queue, "G" .. string.sub(record, group, group + 27) .. "\0\0\0\0")
end

-- The number by which a get waits for a MsgId that igq generated: the message's own, or if it was given the MsgId of another
-- message, as a reply may be, that one's. Nil if igq did not generate its MsgId.
local function generated_number(id, record)
    local _, msgid = nil, nil
    if needs_look(id) then _, msgid = identifier_offsets(record) end
    if not msgid then return string.match(id, "^%d+") end
    if string.sub(record, msgid, msgid + 3) ~= "CSQ " then return nil end
    local high, low = struct.unpack(">I2I4", record, msgid + 18)
    return string.format("%.0f", high * 2 ^ 32 + low)
end

-- IBM: one waiting get is activated, specific ones before general ones; waiting browses are all activated.
-- A member of a group tells the level at which first items are new (look_after); -1: none is.
local function wake_for(queue, own, wake_base, id, record, level)
    -- Most often one get waits for any message, and nobody else; "A" sorts first.
    local waiters = redis.call("ZRANGE", queue.w, 0, 1)
    if #waiters == 1 and string.byte(waiters[1]) == 65 then
        wake(queue, own, wake_base, waiters[1], string.sub(waiters[1], 2), nil, id, record)
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
    local number = not member and generated_number(id, record)
    if number then member, token = first_waiter(queue, "N" .. number .. " ") end
    if not member and level then
        member, token = first_in_group(queue, record)
    end
    if not member then member, token = first_waiter(queue, "V") end
    if not member then member, token = first_general(queue, level or 2) end
    if member then
        wake(queue, own, wake_base, member, token, nil, id, record)
        woken = 1
    end
    return woken + wake_kind(queue, own, wake_base, "B")
end

local function is_anything_on(queue)
    return redis.call("ZCARD", queue.a) > 0 or tonumber(redis.call("HGET", queue.q, "gm") or 0) > 0
end

-- The caller was woken by something that does not fit after all: another one that may have waited for that looks next.
-- `mine` is the entry that the caller waited under; "" unless others under such an entry could want what it did not.
-- `woken_by` is the message that woke it, where that is known; it may be gone.
local function pass_on(queue, messages, own, wake_base, mine, woken_by)
    local kind, member, token = string.sub(mine, 1, 1), nil, nil
    if kind == "V" or kind == "G" or kind == "E" or kind == "N" then
        local prefix = string.sub(mine, 1, SELECTION_BYTES[kind] or string.find(mine, " ", 1, true))
        local found = redis.call("ZRANGEBYLEX", queue.w, "(" .. mine, "(" .. prefix .. "\255", "LIMIT", 0, 1)
        member, token = found[1], found[1] and string.sub(found[1], #prefix + 1)
    end
    if not member and kind == "N" and woken_by then
        local record = redis.call("HGET", messages, woken_by)
        if record then member, token = first_in_group(queue, record) end
    end
    -- Never back to those that were asked before: they would wake each other for ever.
    if not member and kind ~= "V" and kind ~= "E" then member, token = first_waiter(queue, "V") end
    if not member then member, token = first_general(queue, 2, kind == "E") end
    if member then wake(queue, own, wake_base, member, token, nil, woken_by) end
end

-- A woken get has taken another message, or was refused one: wakes another waiter for the message that woke it.
local function wake_for_what_is_left(queue, messages, own, wake_base, id)
    if tonumber(redis.call("HGET", queue.q, "nw") or 0) == 0 then return end
    local record = redis.call("HGET", messages, id)
    wake_for(queue, own, wake_base, id, record, queue.r and is_member(queue, record) and 2 or nil)
end

-- After members that went there are others at the same places, which count from now on: as if these had just arrived.
local function tell_of_revealed(queue, messages, own, wake_base)
    for _, one in ipairs(queue.revealed) do
        if tonumber(redis.call("HGET", queue.q, "nw") or 0) == 0 then return end
        if redis.call("ZSCORE", queue.r, one.id) then
            wake_for(queue, own, wake_base, one.id, redis.call("HGET", messages, one.id), 2)
        end
    end
end

-- Enters messages some of which need a look where they can be found. Returns, of members, the levels at which first items
-- are new, by their positions.
local function index_looked_at(queue, messages, expiry, added, records)
    local plain = added
    -- Members stand elsewhere; without the keys for that, there is none among these.
    if queue.r then
        plain = {}
        for position = 1, #added / 2 do
            local id = added[2 * position]
            if not (needs_look(id) and is_member(queue, records[position])) then
                plain[#plain + 1] = added[2 * position - 1]
                plain[#plain + 1] = id
            end
        end
    end
    if #plain > 0 then redis.call("ZADD", queue.a, unpack(plain)) end
    -- Identifiers alone, by far the most frequent, are indexed in one command.
    local entries, others = {}, {}
    for position = 1, #added / 2 do
        local score, id, record = added[2 * position - 1], added[2 * position], records[position]
        if needs_look(id) then
            local flags = string.byte(record, 1)
            if bit.band(flags, EXPIRY + GROUP) ~= 0 then
                others[#others + 1] = { id = id, score = score, record = record, position = position }
            else
                INLINE.identifiers(entries, id, score, record)
            end
        end
    end
    INLINE.index_entries(queue.i, entries)
    local levels = {}
    if #others > 0 then look_after_all(queue, messages, expiry, 1, others) end
    for _, item in ipairs(others) do levels[item.position] = item.level end
    return levels
end

-- Puts messages where gets can find them: `added` lists score, id, score, id; `records` is nil where none needs a look.
local function make_available(queue, messages, own, wake_base, expiry, waiting, added, records)
    local levels = {}
    if records then
        levels = index_looked_at(queue, messages, expiry, added, records)
    else
        redis.call("ZADD", queue.a, unpack(added))
    end
    for position = 1, waiting > 0 and #added / 2 or 0 do
        if waiting > 0 then
            local record = records and records[position]
            waiting = waiting - wake_for(queue, own, wake_base, added[2 * position], record, levels[position])
        end
    end
end
