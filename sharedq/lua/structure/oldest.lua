--[[
structure/oldest.lua - when the oldest available message of each of some queues was put. Reads only.

Within a priority messages stand in the order of their arrival, so only the first of each priority is looked at. A
record is read whole, so that few large ones end the call; the caller goes on with the queues that are left.

KEYS
  1 messages
  2.. for each queue: available, members
ARGV
  1  bytes     of records after which no further queue is begun
  2.. for each queue: the message that is its oldest, if the caller knows that; "" if it must be looked for
REPLY       for each queue that was looked at: ms since 1970; "0" where no time is known, "" where no message is
REASONS     none
INVARIANTS  4 bounded (ten priorities a set; the caller asks for at most 100 queues)
COST        O(queues * log depth), and the bytes of the records
USES        record
]]
local messages, bytes_max, bytes = KEYS[1], tonumber(ARGV[1]), 0
-- The scores that one priority has.
local PRIORITY = 2 ^ 48
local found = {}

-- When a message was put: six bytes, after everything that only some records have.
local function put_time_ms(record)
    local at = 6
    if has(record, EXPIRY) then at = at + 8 end
    if has(record, CORREL) then at = at + 24 end
    if has(record, MSGID) then at = at + 24 end
    if has(record, GROUP) then at = at + 40 end
    if has(record, DESTINATION) then at = at + 1 + string.byte(record, at) end
    local high, low = struct.unpack(">I2I4", record, at)
    return high * 2 ^ 32 + low
end

-- The ids of the first messages of each priority.
local function first_ones(set)
    local ids, floor = {}, "-inf"
    for _ = 1, 10 do
        local first = redis.call("ZRANGEBYSCORE", set, floor, "+inf", "WITHSCORES", "LIMIT", 0, 1)
        if not first[1] then break end
        ids[#ids + 1] = first[1]
        floor = string.format("%.0f", (math.floor(tonumber(first[2]) / PRIORITY) + 1) * PRIORITY)
    end
    return ids
end

for position = 2, #KEYS, 2 do
    if bytes >= bytes_max then break end
    local known, oldest = ARGV[position / 2 + 1], nil
    local ids = known ~= "" and { known } or first_ones(KEYS[position])
    if known == "" then
        for _, id in ipairs(first_ones(KEYS[position + 1])) do ids[#ids + 1] = id end
    end
    for _, id in ipairs(ids) do
        local record = redis.call("HGET", messages, id)
        if record then
            bytes = bytes + #record
            local put_ms = put_time_ms(record)
            if not oldest or put_ms < oldest then oldest = put_ms end
        end
    end
    found[#found + 1] = oldest and string.format("%.0f", oldest) or ""
end
return found
