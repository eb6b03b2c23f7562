--[[
admin/progress.lua - a recoverer reports how far it is, and keeps its claim.

KEYS
  1  leases      zset
  2  recoveries  hash  target -> JSON
ARGV
  1  target
  2  by
  3  claim_ms
  4  changes     JSON object, merged in; numbers under "add" are added
REPLY       { 0 } | { 1 } somebody else took over
REASONS     none
INVARIANTS  6 sequence under failure
COST        O(log members)
USES        membership
]]
local record = redis.call("HGET", KEYS[2], ARGV[1])
record = record and cjson.decode(record)
if not record or record.by ~= ARGV[2] then return { 1 } end
local changes = cjson.decode(ARGV[4])
for name, value in pairs(changes.add or {}) do record[name] = (record[name] or 0) + value end
changes.add = nil
for name, value in pairs(changes) do record[name] = value end
local now = now_ms()
record.seconds = (now - record.detected_ms) / 1000
redis.call("HSET", KEYS[2], ARGV[1], cjson.encode(record))
redis.call("ZADD", KEYS[1], "XX", now + tonumber(ARGV[3]), "!" .. ARGV[1])
return { 0 }
