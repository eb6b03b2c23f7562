--[[
structure/read_range.lua - a slice of what is available on a queue, for readers that hold no handle. Reads only.

The slice is in delivery order, members of groups in their places among the others. Uncommitted and locked messages
stand in none of the sets; what has expired is passed over, and stays for those who may take it away.

Where an identifier is asked for, its entries in the selection index are looked at instead of the whole queue. What
else is asked for is compared with each record that was looked at.

KEYS
  1  messages   hash  message id -> record
  2  queue      hash  counters
  3  available  zset  ids by score
  4  members    zset  ids of members of groups, by score
  5  index      zset  selection index
ARGV
  1  after       score behind which to look
  2  until       last score to look at
  3  newest      arrival number of the last message to look at
  4  count       messages to look at, at most
  5  bytes       of records to look at, at most; or one message
  6  has_body    1: records are returned whole; else without their data
  7  number      of a MsgId that igq generated; "" of none
  8  msgid, 9 correl, 10 group   "" asks nothing; a MsgId with a number may be that of its record, or follow from its id
  11 priority_min, 12 priority_max
  13 put_from, 14 put_until   ms since 1970; "" asks nothing
REPLY       { score to go on behind, or "" at the end, ms since 1970, { id, score, length of the data, record, ... } }
REASONS     none
INVARIANTS  4 bounded
COST        O(count + log depth), and the bytes
USES        record
]]
local messages, queue, index = KEYS[1], KEYS[2], KEYS[5]
local after, last, newest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count, bytes_max = tonumber(ARGV[4]), tonumber(ARGV[5])
local number, msgid, correl, group = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local priority_min, priority_max = tonumber(ARGV[11]), tonumber(ARGV[12])
local put_from, put_until = tonumber(ARGV[13]), tonumber(ARGV[14])
local ARRIVALS = 2 ^ 48

local found = {}
local function in_set(key)
    local from, to = "(" .. string.format("%.0f", after), string.format("%.0f", last)
    local entries = redis.call("ZRANGEBYSCORE", key, from, to, "WITHSCORES", "LIMIT", 0, count)
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
elseif correl ~= "" then
    in_index("C" .. correl)
    in_index("c" .. correl)
else
    in_set(KEYS[3])
    in_set(KEYS[4])
end
-- Each source was asked for as many as are wanted, so the first of all are among them.
table.sort(found, function(one, other) return one.score < other.score end)
local goes_on = #found >= count
for position = #found, count + 1, -1 do found[position] = nil end

local now, reply, bytes, before = now_ms(), {}, 0, 0

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

local function take(entry, record)
    -- A MsgId may lead to one message in two ways.
    local is_again = entry.score == before
    before = entry.score
    if is_again or entry.score % ARRIVALS > newest or is_expired(record) or not is_asked_for(entry.id, record) then
        return
    end
    local body, at = body_offset(record), #reply
    reply[at + 1], reply[at + 2] = entry.id, string.format("%.0f", entry.score)
    reply[at + 3], reply[at + 4] = #record - body, ARGV[6] == "1" and record or string.sub(record, 1, body)
end

-- Where a long record may be among them (`lg`, see docs/keyspace.md) each is weighed before it is read.
local upto = #found
if redis.call("HGET", queue, "lg") then
    for position, entry in ipairs(found) do
        bytes = bytes + redis.call("HSTRLEN", messages, entry.id)
        if bytes > bytes_max and position > 1 then
            upto, goes_on = position - 1, true
            break
        end
    end
end
if upto > 0 then
    local ids = {}
    for position = 1, upto do ids[position] = found[position].id end
    for position, record in ipairs(redis.call("HMGET", messages, unpack(ids))) do take(found[position], record) end
end
return { goes_on and upto > 0 and string.format("%.0f", found[upto].score) or "", string.format("%.0f", now), reply }
