--[[
admin/note_deed.lua - note in the audit trail who did what. Of the deeds the latest five thousand or so stay.

KEYS
  1  audit   stream  the audit trail
ARGV
  1.. fields of the deed and their values
REPLY       { 0 }
REASONS     none
INVARIANTS  4 bounded
MEMORY      refused when Redis is full
COST        O(fields)
]]
redis.call("XADD", KEYS[1], "MAXLEN", "~", 5000, "*", unpack(ARGV))
return { 0 }
