--[[
Functions that read a message record; the layout is in docs/reference/key-space.md, "A record".
]]
local PERSISTENT, EXPIRY, CORREL, MSGID, GROUP, REPORT, DESTINATION, TELLS_EXPIRY = 1, 2, 4, 8, 16, 32, 64, 128
-- An order key is a score in seven bytes, so that index entries sort in delivery order.
local ORDER_BYTES = 7

local function has(record, flag)
    return bit.band(string.byte(record, 1), flag) ~= 0
end

-- An id that ends in "x" belongs to a record that must be looked at when it moves.
local function needs_look(id)
    return string.byte(id, -1) == 120
end

local function body_offset(record)
    local high, low = string.byte(record, 4, 5)
    return high * 256 + low
end

local function now_ms()
    local time = redis.call("TIME")
    return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function expiry_ms(record)
    return struct.unpack(">I8", record, 6)
end

local function is_expired(record)
    return has(record, EXPIRY) and expiry_ms(record) <= now_ms()
end

-- Where the identifiers of a record start: CorrelId, MsgId, GroupId (nil where there is none).
local function identifier_offsets(record)
    local flags, at, correl, msgid, group = string.byte(record, 1), 6, nil, nil, nil
    if bit.band(flags, EXPIRY) ~= 0 then at = at + 8 end
    if bit.band(flags, CORREL) ~= 0 then correl, at = at, at + 24 end
    if bit.band(flags, MSGID) ~= 0 then msgid, at = at, at + 24 end
    if bit.band(flags, GROUP) ~= 0 then group = at end
    return correl, msgid, group
end

-- Whether a MsgId that igq generated, and that names the number of a message without one of its own, is that message's:
-- the same number is given by other groups, too. A MsgId begins with the place where its message was put.
local function is_generated(record, msgid)
    local correl, _, group = identifier_offsets(record)
    local at = 12
    if has(record, EXPIRY) then at = at + 8 end
    if correl then at = at + 24 end
    if group then at = at + 40 end
    if has(record, DESTINATION) then at = at + 1 + string.byte(record, at - 6) end
    local length = string.byte(record, at)
    return string.sub(msgid, 5, 16) == string.sub(record, at + 1, at + length) .. string.rep(" ", 12 - length)
end

-- The id that a message has unless it was moved or goes to another manager: its number is in its score.
local function usual_id(score)
    return string.format("%.0fx", score % CONST.PRIORITY_STEP)
end

-- The text after a prefix in an index entry: the place, and the id unless it is usual (sixteen bytes a message).
local function place_text(score, id)
    local order = struct.pack(">I7", score)
    return id == usual_id(score) and order or order .. id
end

-- Appends the index entries of a message to the list `into`; `tail` is its place_text. Members of groups have their CorrelIds
-- apart ("c"). `is_short`: without "G".
local function index_members(into, record, tail, correl_kind, is_short)
    local correl, msgid, group = identifier_offsets(record)
    if correl then into[#into + 1] = (correl_kind or "C") .. string.sub(record, correl, correl + 23) .. tail end
    if msgid then into[#into + 1] = "M" .. string.sub(record, msgid, msgid + 23) .. tail end
    if correl and msgid then
        local both = string.sub(record, msgid, msgid + 23) .. string.sub(record, correl, correl + 23)
        into[#into + 1] = "X" .. both .. tail
    end
    if not group then return end
    -- Any of SEGMENT, LAST_SEGMENT, MSG_IN_GROUP, LAST_MSG_IN_GROUP.
    if bit.band(struct.unpack(">I4", record, group + 32), 30) == 0 then
        into[#into + 1] = "O" .. string.sub(record, group, group + 23) .. tail
    else
        if not is_short then into[#into + 1] = "G" .. string.sub(record, group, group + 31) .. tail end
        into[#into + 1] = "H" .. string.sub(record, group, group + 23) .. tail
    end
end
