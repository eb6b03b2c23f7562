--[[
admin/finish_recovery.lua - everything the dead one left is resolved: free its tags, forget it.

KEYS
  1  leases      zset
  2  recoveries  hash  target -> JSON
  3  tags        hash  scope + tag -> owner token
  4  own         hash  registered connections
  5  processes   hash  process -> JSON
  6  decisions   hash  unit of work -> structures
  7  fence       hash  dead incarnations, processes and connections
ARGV
  1  target
  2  by
  3.. pairs: kind (tag, own, process, decision, fence, recovery), field
REPLY       { 0 } | { 1 } somebody else took over
REASONS     none
INVARIANTS  6 sequence under failure
COST        O(fields given)
USES        membership
]]
local record = redis.call("HGET", KEYS[2], ARGV[1])
record = record and cjson.decode(record)
if not record or record.by ~= ARGV[2] then return { 1 } end
local keys = { tag = KEYS[3], own = KEYS[4], process = KEYS[5], decision = KEYS[6], fence = KEYS[7], recovery = KEYS[2] }
for position = 3, #ARGV, 2 do redis.call("HDEL", keys[ARGV[position]], ARGV[position + 1]) end
local now = now_ms()
record.state, record.resolved_ms, record.seconds = "RESOLVED", now, (now - record.detected_ms) / 1000
redis.call("HSET", KEYS[2], ARGV[1], cjson.encode(record))
redis.call("ZREM", KEYS[1], "!" .. ARGV[1])
return { 0 }
