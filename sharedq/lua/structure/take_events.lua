--[[
structure/take_events.lua - take the oldest notes of events: each goes to one manager, and to no other.

KEYS
  1  events  stream  the notes
ARGV
  1  count   notes to take, at most
REPLY       { { id, { field, value, ... } }, ... }
REASONS     none
INVARIANTS  4 bounded, 8 once
COST        O(count)
]]
local found = redis.call("XRANGE", KEYS[1], "-", "+", "COUNT", ARGV[1])
for _, note in ipairs(found) do redis.call("XDEL", KEYS[1], note[1]) end
return found
