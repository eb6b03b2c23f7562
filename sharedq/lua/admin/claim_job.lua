--[[
admin/claim_job.lua - housekeeping that one manager does for the group: whose turn is it?

KEYS
  1  group  hash  counters and settings
ARGV
  1  job
  2  interval_ms  shortest time between two runs
REPLY       1 it is yours | 0 somebody did it a moment ago
REASONS     none
INVARIANTS  4 bounded scripts
COST        O(1)
USES        membership
]]
local field, now = "job " .. ARGV[1], now_ms()
local last = tonumber(redis.call("HGET", KEYS[1], field) or 0)
-- A clock that was set back must not stop the job.
if last <= now and now - last < tonumber(ARGV[2]) then return 0 end
redis.call("HSET", KEYS[1], field, now)
return 1
