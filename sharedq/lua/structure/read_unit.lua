--[[
structure/read_unit.lua - what operations of a prepared unit of work got, with the messages but for their data. Reads only.

For workers that process the messages that a coordinator has claimed: until the unit of work is ended they can read it
as often as it takes. Plain commands read whole messages (``sharedq.reading``).

KEYS
  1  unit      list  the unit of work, under its own id
  2 messages
ARGV
  1  position  of the first operation, from 1
  2  count     messages after which no further operation is begun
  3  bytes     of records, likewise
REPLY       { position to go on at, 0 at the end, ms since 1970, { of each operation: { ids, scores, records without their
            data, lengths of the data } } } | { -1 } it has ended, or is being ended
            ids, scores and lengths have blanks between them; of scores that are a run there is only the first
REASONS     none
INVARIANTS  4 bounded (an operation is at most 1000 messages)
COST        O(count, or the messages of one operation), and their bytes
USES        record, unit_of_work
]]
local unit, messages, position = KEYS[1], KEYS[2], tonumber(ARGV[1])
local count_max, bytes_max = tonumber(ARGV[2]), tonumber(ARGV[3])
local ENDED = -1
local state = redis.call("LRANGE", unit, 0, 0)[1]
if not (state and string.sub(state, 1, 1) == "A") then return { ENDED } end

local operations, count, bytes = {}, 0, 0
while count < count_max and bytes < bytes_max do
    local element = redis.call("LRANGE", unit, position, position)[1]
    if not element then break end
    local operation, lengths = read_operation(element), {}
    -- Reports that confirm what was got are put in the same unit of work.
    if operation.kind ~= "P" then
        local ids = ids_of(operation)
        local records = redis.call("HMGET", messages, unpack(ids))
        for at = 1, #ids do
            local record = records[at]
            if not record then return { ENDED } end
            bytes = bytes + #record
            local body = body_offset(record)
            lengths[at], records[at] = #record - body, string.sub(record, 1, body)
        end
        operations[#operations + 1] = { operation.ids_text, operation.scores_text, records, table.concat(lengths, " ") }
    end
    count, position = count + operation.count, position + 1
end
if redis.call("LLEN", unit) <= position then position = 0 end
return { position, string.format("%.0f", now_ms()), operations }
