--[[
admin/note_read.lua - somebody reads what a prepared unit of work got, which has to be read before it is committed.

How often is noted, of a unit of work that has to be read. See admin/decide_together for what it is good for.

KEYS
  1 prepared
ARGV
  1  field    of prepared: manager or group, blank, external id
REPLY       { 0 }, also where it has ended, or nobody has to read it
REASONS     none
INVARIANTS  1 nothing lost
COST        O(1)
]]
local text = redis.call("HGET", KEYS[1], ARGV[1])
-- Within a string there is a backslash before the quote.
local first, last, times = string.find(text or "", '"read":(%d+)')
if first then
    local read = string.format('"read":%d', tonumber(times) + 1)
    redis.call("HSET", KEYS[1], ARGV[1], string.sub(text, 1, first - 1) .. read .. string.sub(text, last + 1))
end
return { 0 }
