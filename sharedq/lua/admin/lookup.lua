--[[
admin/lookup.lua - name resolution of MQOPEN: a name's private and shared entries, and the manager's attributes.

KEYS
  1 directory, 2 qmgr
ARGV
  1 qmgr, 2 name
REPLY       { private entry or "", shared entry or "", manager's attributes or "" }
REASONS     none
INVARIANTS  none
COST        O(1)
]]
local found = redis.call("HMGET", KEYS[1], "P " .. ARGV[1] .. " " .. ARGV[2], "S " .. ARGV[2])
return { found[1] or "", found[2] or "", redis.call("HGET", KEYS[2], ARGV[1]) or "" }
