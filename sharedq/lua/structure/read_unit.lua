--[[
structure/read_unit.lua - what one operation of a prepared unit of work got or put, with the messages. Reads only.

For whoever processes what a coordinator has claimed: until that is ended it can be read as often as it takes.

KEYS
  1  unit      list  the unit of work, under its own id
  2  messages  hash  message id -> record
ARGV
  1  position  of the operation, from 1
  2  has_body  1: records are returned whole; else without their data
REPLY       { elements of the unit of work, ms since 1970, { id, score, length of the data, record, ... } }
            | { 0 } it has ended, or is being ended
REASONS     none
INVARIANTS  4 bounded (an operation is at most 1000 messages)
COST        O(messages of the operation), and their bytes
USES        record, unit_of_work
]]
local unit, messages, position = KEYS[1], KEYS[2], tonumber(ARGV[1])
local ENDED = 0
local state = redis.call("LRANGE", unit, 0, 0)[1]
local element = redis.call("LRANGE", unit, position, position)[1]
if not (state and element and string.sub(state, 1, 1) == "A") then return { ENDED } end
local ids, added = messages_of(read_operation(element))
local reply = {}
for at, record in ipairs(redis.call("HMGET", messages, unpack(ids))) do
    if not record then return { ENDED } end
    local body, last = body_offset(record), #reply
    reply[last + 1], reply[last + 2] = ids[at], string.format("%.0f", added[2 * at - 1])
    reply[last + 3], reply[last + 4] = #record - body, ARGV[2] == "1" and record or string.sub(record, 1, body)
end
return { redis.call("LLEN", unit), string.format("%.0f", now_ms()), reply }
