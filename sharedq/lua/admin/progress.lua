--[[
admin/progress.lua - a recoverer reports how far it is, and keeps its claim.

KEYS
  1  leases      zset
  2  recoveries  hash  target -> JSON
  3  fence       hash  dead incarnations, processes and connections
ARGV
  1  target
  2  caller      owner token of the recoverer
  3  claim_ms
  4  state       FENCED, RESOLVING, DELAYED; when it is new, its time is noted too
  5  units       units of work resolved since the last report
  6  messages    messages of them
  7.. leases to end: processes and connections under the target, so that those which still run stop
REPLY       { 0, JSON of the recovery } | { 1 } somebody else took over
REASONS     none
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(leases given * log members)
USES        membership, recoverer
]]
local leases, recoveries, target, state = KEYS[1], KEYS[2], ARGV[1], ARGV[4]
local LOST = 1
local record = claimed_record(recoveries, KEYS[3], target, ARGV[2])
if not record then return { LOST } end
local now = now_ms()
if record.state ~= state then record.state, record[string.lower(state) .. "_ms"] = state, now end
record.units_of_work = record.units_of_work + tonumber(ARGV[5])
record.messages = record.messages + tonumber(ARGV[6])
record.seconds = (now - record.detected_ms) / 1000
local text = cjson.encode(record)
redis.call("HSET", recoveries, target, text)
redis.call("ZADD", leases, "XX", now + tonumber(ARGV[3]), "!" .. target)
for position = 7, #ARGV do
    if is_under(ARGV[position], target) then redis.call("ZREM", leases, ARGV[position]) end
end
return { 0, text }
