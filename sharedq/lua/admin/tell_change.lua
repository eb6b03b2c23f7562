--[[
admin/tell_change.lua - tell the managers that a structure has something new to look at. Each learns it when it renews
its lease.

KEYS
  1  members  hash  "!structures": how many changes were told
ARGV

REPLY       how many changes were told
REASONS     none
INVARIANTS  none
COST        O(1)
]]
return redis.call("HINCRBY", KEYS[1], "!structures", 1)
