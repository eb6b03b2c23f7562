--[[
admin/agent_state.lua - an agent's state, as others are shown it.

KEYS
  1  agents  hash  manager -> JSON
ARGV
  1  qmgr
  2  state  JSON
REPLY       { 0 }
REASONS     none
INVARIANTS  none
COST        O(1)
]]
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
return { 0 }
