--[[
admin/renew.lua - renew a lease; look at the earliest leases of the group in the same call.

A lease that a recoverer has claimed is gone from the set and cannot be renewed.

KEYS
  1  leases   zset  incarnation or process -> deadline
  2  members  hash  manager -> JSON
ARGV
  1  token     incarnation or process
  2  lease_ms
  3  qmgr      its manager
  4  look      how many of the earliest leases to return; 0 none
REPLY       { 1 renewed or 0 lost, now in ms, JSON of the manager, [lease, deadline, ...] }
REASONS     none
INVARIANTS  2 fencing
COST        O(log members)
USES        membership
]]
local leases, token = KEYS[1], ARGV[1]
local now = now_ms()
-- CH counts changes: two renewals within one millisecond change nothing, though the lease is held.
local changed = redis.call("ZADD", leases, "XX", "CH", now + tonumber(ARGV[2]), token)
local is_held = changed == 1 or redis.call("ZSCORE", leases, token)
local look = tonumber(ARGV[4])
local earliest = look > 0 and redis.call("ZRANGE", leases, 0, look - 1, "WITHSCORES") or {}
return { is_held and 1 or 0, now, redis.call("HGET", KEYS[2], ARGV[3]), earliest }
