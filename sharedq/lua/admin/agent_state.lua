--[[
admin/agent_state.lua - an agent's state, as others are shown it.

A write of an agent that was cut off can arrive late, when its successor has shown a state of its own.

KEYS
  1 agents, 2 processes, 3 fence
ARGV
  1  process  that of the agent
  2  state    JSON
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(1)
USES        membership
]]
local process = ARGV[1]
local qmgr, incarnation = string.match(process, "^([^.]+)%.(%d+)%.")
local is_known = redis.call("HEXISTS", KEYS[2], process) == 1
if not is_known or is_dead(KEYS[3], qmgr, incarnation, process, process) then return { MQRC.CONNECTION_BROKEN } end
redis.call("HSET", KEYS[1], qmgr, ARGV[2])
return { 0 }
