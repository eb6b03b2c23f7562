--[[
admin/disconnect.lua - MQDISC: the connection has ended its work; give back its tag.

KEYS
  1  own   hash  registered connections
  2  tags  hash  scope + tag -> owner token
ARGV
  1  owner
  2  tag    "" or scope and tag
REPLY       { 0 }
REASONS     none
INVARIANTS  6 sequence under failure
COST        O(1)
]]
redis.call("HDEL", KEYS[1], ARGV[1])
if ARGV[2] ~= "" and redis.call("HGET", KEYS[2], ARGV[2]) == ARGV[1] then redis.call("HDEL", KEYS[2], ARGV[2]) end
return { 0 }
