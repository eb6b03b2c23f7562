--[[
structure/fields_page.lua - names of the fields of a hash without their values, a page at a time: for igq fsck. Reads only.

KEYS
  1  hash  message id -> record
ARGV
  1  cursor  of the page before; 0 the first
  2  count   fields that Redis looks at, about
REPLY       { cursor, 0 at the end, { fields } }
REASONS     none
INVARIANTS  4 bounded
COST        O(count), and their bytes
]]
local reply = redis.call("HSCAN", KEYS[1], ARGV[1], "COUNT", ARGV[2])
local fields = {}
for position = 1, #reply[2], 2 do fields[#fields + 1] = reply[2][position] end
return { reply[1], fields }
