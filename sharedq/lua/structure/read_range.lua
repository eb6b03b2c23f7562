--[[
structure/read_range.lua - a slice of what is available on a queue, for readers that hold no handle. Reads only.

The slice is in delivery order, members of groups in their places among the others. Uncommitted and locked messages
stand in none of the sets; what has expired is passed over, and stays for those who may take it away.

Where an identifier is asked for, its entries in the selection index are looked at instead of the whole queue. The rest
that is asked for is compared with each record that was looked at, and last the selector. It ends the slice early if it
has much work.

KEYS
  1 messages, 2 queue, 3 available, 4 members, 5 index
ARGV
  1  after       score after which to look
  2  until       last score to look at
  3  newest      arrival number of the last message to look at
  4  count       messages to look at, at most
  5  bytes       of records to look at, at most; or one message
  6  data        bytes of each message's data that its record is returned with; "" all
  7  number      of a MsgId that igq generated; "" of none
  8  msgid, 9 correl, 10 group   "" asks nothing; a MsgId with a number may be that of its record, or follow from its id
  11 priority_min, 12 priority_max
  13 put_from, 14 put_until   ms since 1970; "" asks nothing
  15 selector    the condition, as JSON; "" of none
  16 structure   number of the structure, for a selector that asks for a MsgId
REPLY       { score to go on after, or "" at the end, ms since 1970, ids, scores, records, lengths of the data }
            ids, scores and lengths have blanks between them; lengths are "" where all data are asked for
REASONS     none
INVARIANTS  4 bounded
RIGHTS      asked by structure/attach
COST        O(count + log depth), and the bytes; with a selector few ms, or one message
USES        record, selector
]]
local messages, queue, index = KEYS[1], KEYS[2], KEYS[5]
local after, last, newest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count, bytes_max = tonumber(ARGV[4]), tonumber(ARGV[5])
local number, msgid, correl, group = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local priority_min, priority_max = tonumber(ARGV[11]), tonumber(ARGV[12])
local put_from, put_until = tonumber(ARGV[13]), tonumber(ARGV[14])
local selector, structure = ARGV[15], tonumber(ARGV[16])
-- The most work that one call does for a selector (prelude/selector).
local WORK_MAX = 4000000

local is_any = msgid == "" and correl == "" and group == "" and not (put_from or put_until)
    and priority_min == 0 and priority_max == 9 and selector == ""

-- Ids and scores as Redis writes them: whole numbers, without an exponent.
local ids, scores, found = {}, {}, {}
local function in_set(key)
    local from, to = "(" .. string.format("%.0f", after), string.format("%.0f", last)
    return redis.call("ZRANGEBYSCORE", key, from, to, "WITHSCORES", "LIMIT", 0, count)
end

local function merge(entries)
    for at = 1, #entries, 2 do found[#found + 1] = { id = entries[at], score = tonumber(entries[at + 1]) } end
end

local function in_index(prefix)
    local from, to = "(" .. prefix .. struct.pack(">I7", after) .. "\255", "(" .. prefix .. struct.pack(">I7", last) .. "\255"
    for _, entry in ipairs(redis.call("ZRANGEBYLEX", index, from, to, "LIMIT", 0, count)) do
        local score, id = struct.unpack(">I7", entry, #prefix + 1), string.sub(entry, #prefix + 1 + ORDER_BYTES)
        found[#found + 1] = { id = id ~= "" and id or usual_id(score), score = score }
    end
end

-- The id of a message has the look mark or not, and the code of this queue or none.
local function by_number()
    local code = redis.call("HGET", queue, "code")
    for _, ending in ipairs(code and { "", "." .. code } or { "" }) do
        for _, mark in ipairs({ "", "x" }) do
            local id = number .. ending .. mark
            local score = tonumber(redis.call("ZSCORE", KEYS[3], id) or redis.call("ZSCORE", KEYS[4], id) or 0)
            if score > after and score <= last then found[#found + 1] = { id = id, score = score } end
        end
    end
end

if msgid ~= "" then
    in_index("M" .. msgid)
    if number ~= "" then by_number() end
elseif group ~= "" then
    in_index("H" .. group)
    in_index("O" .. group)
elseif correl ~= "" then
    in_index("C" .. correl)
    in_index("c" .. correl)
else
    local available, members = in_set(KEYS[3]), in_set(KEYS[4])
    if #available > 0 and #members > 0 then
        merge(available)
        merge(members)
    else
        local entries = #available > 0 and available or members
        for at = 1, #entries / 2 do ids[at], scores[at] = entries[2 * at - 1], entries[2 * at] end
    end
end
if #found > 0 then
    -- Each source was asked for as many as are wanted, so the first of all are among them.
    table.sort(found, function(one, other) return one.score < other.score end)
    for at, entry in ipairs(found) do ids[at], scores[at] = entry.id, string.format("%.0f", entry.score) end
end
local goes_on, upto = #ids >= count, math.min(#ids, count)

-- Where a long record may be among them (`lg`, see docs/reference/key-space.md) each is weighed before it is read.
if redis.call("HGET", queue, "lg") then
    local bytes = 0
    for position = 1, upto do
        bytes = bytes + redis.call("HSTRLEN", messages, ids[position])
        if bytes > bytes_max and position > 1 then
            upto, goes_on = position - 1, true
            break
        end
    end
end
for position = #ids, upto + 1, -1 do ids[position], scores[position] = nil, nil end
local now, go_on_after = now_ms(), goes_on and scores[upto] or ""
if upto == 0 then return { "", string.format("%.0f", now), "", "", {}, "" } end
local records = redis.call("HMGET", messages, unpack(ids))

local function put_ms(record)
    local correl_at, msgid_at, group_at = identifier_offsets(record)
    local at = 6
    if has(record, EXPIRY) then at = at + 8 end
    if correl_at then at = at + 24 end
    if msgid_at then at = at + 24 end
    if group_at then at = at + 40 end
    if has(record, DESTINATION) then at = at + 1 + string.byte(record, at) end
    local high, low = struct.unpack(">I2I4", record, at)
    return high * 2 ^ 32 + low
end

local function is_asked_for(id, record)
    local correl_at, msgid_at, group_at = identifier_offsets(record)
    local function is_at(at, wanted) return wanted == "" or (at and string.sub(record, at, at + 23) == wanted) end
    if not (is_at(correl_at, correl) and is_at(group_at, group)) then return false end
    if msgid_at then
        if not is_at(msgid_at, msgid) then return false end
    elseif msgid ~= "" and (number == "" or string.match(id, "^%d+") ~= number) then
        return false
    end
    local priority = string.byte(record, 2)
    if priority < priority_min or priority > priority_max then return false end
    if not (put_from or put_until) then return true end
    local put = put_ms(record)
    -- 0: the program gave a date that is none.
    return put > 0 and put >= (put_from or put) and put <= (put_until or put)
end

-- Most slices are taken as they are: no message needs a look, and none is newer than the last of them at its priority.
local function all_are_taken()
    local first, at_end = tonumber(scores[1]), tonumber(scores[upto])
    return is_any and not string.find(table.concat(ids, " "), "x", 1, true) and at_end % CONST.PRIORITY_STEP <= newest
        and math.floor(first / CONST.PRIORITY_STEP) == math.floor(at_end / CONST.PRIORITY_STEP)
end

if not all_are_taken() then
    local all_ids, all_scores, all_records, before = ids, scores, records, ""
    ids, scores, records = {}, {}, {}
    local first_true, work = selector ~= "" and selector_of(selector, structure), 0
    local function is_selected(id, record)
        if not first_true then return true end
        local found, _, its_work = first_true({ id }, { record }, WORK_MAX)
        work = work + its_work
        return found ~= nil
    end
    for position = 1, upto do
        local id, score, record = all_ids[position], all_scores[position], all_records[position]
        local is_late = tonumber(score) % CONST.PRIORITY_STEP > newest
        local is_gone = has(record, EXPIRY) and expiry_ms(record) <= now
        -- A MsgId may lead to one message in two ways.
        if score ~= before and not is_late and not is_gone and (is_any or is_asked_for(id, record))
            and is_selected(id, record) then
            ids[#ids + 1], scores[#scores + 1], records[#records + 1] = id, score, record
        end
        before = score
        if work > WORK_MAX then
            go_on_after = score
            break
        end
    end
end

local lengths = {}
local data = tonumber(ARGV[6])
if data then
    for position, record in ipairs(records) do
        local body = body_offset(record)
        lengths[position], records[position] = #record - body, string.sub(record, 1, body + data)
    end
end
return {
    go_on_after, string.format("%.0f", now), table.concat(ids, " "), table.concat(scores, " "), records,
    table.concat(lengths, " ")
}
