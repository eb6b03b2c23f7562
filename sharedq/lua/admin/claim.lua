--[[
admin/claim.lua - peer recovery: exactly one recoverer for a dead incarnation or process.

Winning fences the dead one here in the same moment: its lease is gone, its decisions are refused. Its place in
the leases is taken by "!"+target with the claim's own deadline, so that another takes over if the winner dies.

KEYS
  1  leases      zset  incarnation or process -> deadline; "!"+target -> deadline of a claim
  2  fence       hash  dead incarnations, processes and connections
  3  recoveries  hash  target -> JSON
  4  members     hash  manager -> JSON
ARGV
  1  target      QM.incarnation, QM.incarnation.process, or an owner token
  2  by          recovering manager
  3  claim_ms
  4  qmgr        manager of the target
  5  incarnation
  6  force       1: the target ended in our sight (or is our own), do not wait for its lease
  7  state       what the member becomes: FAILED or STOPPED; "" for a process or a connection
REPLY       { 0, now } won | { 1, ms to wait } not yet | { 2 } nothing to recover
REASONS     none
INVARIANTS  2 fencing, 3 one decision, 6 sequence under failure
COST        O(log members)
USES        membership
]]
local leases, fence, recoveries, members = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local target, by, qmgr, incarnation = ARGV[1], ARGV[2], ARGV[4], tonumber(ARGV[5])
local is_forced, now = ARGV[6] == "1", now_ms()
local NOT_YET, NOTHING = 1, 2

local claimed = redis.call("ZSCORE", leases, "!" .. target)
local record = redis.call("HGET", recoveries, target)
record = record and cjson.decode(record)
    or { failed = target, qmgr = qmgr, state = "CLAIMED", units_of_work = 0, messages = 0, detected_ms = now }
if claimed then
    if tonumber(claimed) > now and record.by ~= by then return { NOT_YET, tonumber(claimed) - now } end
else
    local deadline = redis.call("ZSCORE", leases, target)
    if not deadline and not is_forced then return { NOTHING } end
    if deadline and not is_forced and tonumber(deadline) > now then return { NOT_YET, tonumber(deadline) - now } end
    record.lease_ended_ms = tonumber(deadline or now)
    redis.call("ZREM", leases, target)
    if target == qmgr .. "." .. ARGV[5] then
        local written = tonumber(redis.call("HGET", fence, qmgr) or 0)
        if incarnation > written then redis.call("HSET", fence, qmgr, incarnation) end
        local member = redis.call("HGET", members, qmgr)
        member = member and cjson.decode(member)
        if member and member.incarnation == incarnation and ARGV[7] ~= "" then
            member.state = ARGV[7]
            redis.call("HSET", members, qmgr, cjson.encode(member))
        end
    else
        redis.call("HSET", fence, target, now)
    end
end
record.by, record.claimed_ms = by, now
redis.call("HSET", recoveries, target, cjson.encode(record))
redis.call("ZADD", leases, now + tonumber(ARGV[3]), "!" .. target)
return { 0, now }
