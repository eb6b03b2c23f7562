--[[
admin/forget_orphan.lua - a queue that nobody owned any more is deleted.

KEYS
  1  orphans  hash  managed queue without its subscription -> the manager that made it; structure, newline, temporary
                    queue -> the connection that made it
ARGV
  1  queue, as the field has it
  2  who made it: another one may have made a queue with this name since
REPLY       { 0 }
REASONS     none
INVARIANTS  none
COST        O(1)
]]
if redis.call("HGET", KEYS[1], ARGV[1]) == ARGV[2] then redis.call("HDEL", KEYS[1], ARGV[1]) end
return { 0 }
