--[[
admin/forget.lua - every structure has applied a decision, or set the prepared unit of work apart: it is needed no more.

KEYS
  1 decisions
ARGV
  1.. units of work
REPLY       { 0 }
REASONS     none
INVARIANTS  3 one decision
COST        O(units of work given)
]]
redis.call("HDEL", KEYS[1], unpack(ARGV))
return { 0 }
