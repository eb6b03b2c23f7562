--[[
admin/progress.lua - a recoverer reports how far it is with some of its targets, and keeps its claims on them.

KEYS
  1 leases, 2 recoveries, 3 fence, 4 own
ARGV
  1  caller      owner token of the recoverer
  2  claim_ms
  3  state       FENCED, RESOLVING, DELAYED; when it is new, its time is noted too
  4  targets     how many
  5.. for each: target, units of work resolved since the last report, messages of them
      after them leases to end: processes and connections under the targets, so that those which still run stop
REPLY       { 0, answers } one for each target: JSON of the recovery, or nil: somebody else took over
REASONS     none
INVARIANTS  2 fencing, 6 sequence under failure
COST        O((targets + leases given) * log members)
USES        membership, recoverer
]]
local leases, recoveries, state = KEYS[1], KEYS[2], ARGV[3]
local FIRST, WORDS = 5, 3
local leases_begin = FIRST + WORDS * tonumber(ARGV[4])
local now, held, answers = now_ms(), {}, {}

for position = FIRST, leases_begin - 1, WORDS do
    local target = ARGV[position]
    local record, text = claimed_record(recoveries, KEYS[4], KEYS[3], target, ARGV[1]), false
    if record then
        held[target] = true
        if record.state ~= state then record.state, record[string.lower(state) .. "_ms"] = state, now end
        record.units_of_work = record.units_of_work + tonumber(ARGV[position + 1])
        record.messages = record.messages + tonumber(ARGV[position + 2])
        record.seconds = (now - record.detected_ms) / 1000
        text = cjson.encode(record)
        redis.call("HSET", recoveries, target, text)
        redis.call("ZADD", leases, "XX", now + tonumber(ARGV[2]), "!" .. target)
    end
    answers[#answers + 1] = text
end

for position = leases_begin, #ARGV do
    local lease = ARGV[position]
    local process = string.match(lease, "^([^.]+%.%d+%.%d+)")
    if held[process] or held[string.match(lease, "^([^.]+%.%d+)")] then redis.call("ZREM", leases, lease) end
end
return { 0, answers }
