--[[
admin/forget_orphan.lua - a managed queue whose subscription has ended is deleted.

KEYS
  1  orphans  hash  managed queue without its subscription -> the manager that made it
ARGV
  1  queue
REPLY       { 0 }
REASONS     none
INVARIANTS  none
COST        O(1)
]]
redis.call("HDEL", KEYS[1], ARGV[1])
return { 0 }
