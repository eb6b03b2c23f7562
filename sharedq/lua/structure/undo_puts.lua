--[[
structure/undo_puts.lua - an MQPUT of several calls was refused in its middle: take what it has stored out of its unit of
work, which is then as it was before that MQPUT. The latest operations first, some in each call.

Nobody has seen these messages: they are in none of the sets of what is available. A caller that dies in between leaves
a unit of work that is backed out, so the call can also be made again.

KEYS
  1 own, 2 unit, 3 messages
  4  queue     hash    that was put to
  5 journal, 6 available
ARGV
  1  owner        owner token of the caller
  2 unit_id, 3 queue_name
  4  first        number of the first message that the MQPUT stored
  5  journal_max
REPLY       { 0, 1 where there may be more to undo }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 4 bounded
COST        O(messages of ten operations)
USES        fence, unit_of_work, journal
]]
local own, unit, messages, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, unit_id, queue_name, first = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local OPERATIONS_MAX = 10
if is_fenced(own, owner) then return { MQRC.CONNECTION_BROKEN } end
if redis.call("LRANGE", unit, 0, 0)[1] ~= "A" .. unit_id then return { 0, 0 } end

-- A connection's calls take turns: after the first message of this put there is nothing but this put.
local elements, undone, went = redis.call("LRANGE", unit, -OPERATIONS_MAX, -1), {}, 0
for position = #elements, 1, -1 do
    local operation = read_operation(elements[position])
    if operation.kind ~= "P" or tonumber(string.match(operation.ids_text, "^%d+")) < first then break end
    redis.call("HINCRBY", queue, "pu", -operation.count)
    redis.call("HDEL", messages, unpack(ids_of(operation)))
    undone[#undone + 1], went = operation.ids_text, went + operation.count
end
if #undone == 0 then return { 0, 0 } end
redis.call("LTRIM", unit, 0, -#undone - 1)
if redis.call("LLEN", unit) == 1 then redis.call("DEL", unit) end
INLINE.note_change(queue, KEYS[6], queue_name, owner, 0, went)
journal(KEYS[5], ARGV[5], "e", "undo", "o", owner, "q", queue_name, "u", unit_id, "i", table.concat(undone, " "))
return { 0, #undone == OPERATIONS_MAX and 1 or 0 }
