--[[
admin/claim.lua - peer recovery: exactly one recoverer for each dead incarnation, process or connection.

Winning fences the dead one here in the same moment: its lease is gone, its decisions are refused. Its place in
the leases is taken by "!"+target with the claim's own deadline, so that another takes over if the winner dies.
A claim belongs to one connection: when its manager claims again over another one, the first has lost it. Each of the
targets is won or refused by itself.

KEYS
  1 leases, 2 fence, 3 recoveries, 4 members, 5 own
ARGV
  1  by          recovering manager
  2  claim_ms
  3  force       1: the targets ended in our sight (or are our own), do not wait for their leases
  4  state       what the member becomes, where the target is its present incarnation: FAILED or STOPPED
  5  caller      owner token of the recoverer
  6.. for each target: QM.incarnation, QM.incarnation.process, or an owner token; its manager; its incarnation
REPLY       { 0, now, answers } one for each target: { 0 } won | { 1, ms to wait } not yet | { 2 } nothing to recover
            | { 2009 } it covers the recoverer, whom a peer has shut out; or { reason }
REASONS     2009 CONNECTION_BROKEN (the recoverer was itself shut out)
INVARIANTS  2 fencing, 3 one decision, 6 sequence under failure
COST        O(targets * log members)
USES        membership, recoverer
]]
local leases, fence, recoveries, members = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local by, caller = ARGV[1], ARGV[5]
local is_forced, now = ARGV[3] == "1", now_ms()
local NOT_YET, NOTHING, FIRST, WORDS = 1, 2, 6, 3
for position = FIRST, #ARGV, WORDS do
    if is_shut_out(KEYS[5], fence, caller, ARGV[position]) then return { MQRC.CONNECTION_BROKEN } end
end

local function deadline_of(member)
    local deadline = redis.call("ZSCORE", leases, member)
    return deadline and tonumber(deadline)
end

-- A living manager recovers its programs itself; the recovery of a dead one covers them.
local function covered_for_ms(target, qmgr, incarnation_token)
    if target == incarnation_token or is_forced then return 0 end
    local covered = deadline_of("!" .. incarnation_token)
    if not covered and by ~= qmgr then covered = deadline_of(incarnation_token) end
    return covered and math.max(0, covered - now) or 0
end

local function shut_out_incarnation(qmgr, incarnation)
    local written = tonumber(redis.call("HGET", fence, qmgr) or 0)
    if incarnation > written then redis.call("HSET", fence, qmgr, incarnation) end
    local member = redis.call("HGET", members, qmgr)
    member = member and cjson.decode(member)
    if member and member.incarnation == incarnation then
        member.state = ARGV[4]
        redis.call("HSET", members, qmgr, cjson.encode(member))
    end
end

local function claim(target, qmgr, incarnation)
    local incarnation_token = qmgr .. "." .. incarnation
    local claimed, deadline = deadline_of("!" .. target), deadline_of(target)
    local record = redis.call("HGET", recoveries, target)
    record = record and cjson.decode(record)
        or { failed = target, qmgr = qmgr, units_of_work = 0, messages = 0, claims = 0, detected_ms = now }
    if claimed then
        if claimed > now and record.by ~= by then return { NOT_YET, claimed - now } end
        -- One that was shut out by a peer cannot recover itself any more.
        if is_under(caller, target) and record.claimant ~= caller then return { MQRC.CONNECTION_BROKEN } end
    else
        if not deadline and (not is_forced or record.state == "RESOLVED") then return { NOTHING } end
        if not deadline and is_under(caller, target) then return { MQRC.CONNECTION_BROKEN } end
        if deadline and not is_forced and deadline > now then return { NOT_YET, deadline - now } end
        local wait_ms = covered_for_ms(target, qmgr, incarnation_token)
        if wait_ms > 0 then return { NOT_YET, wait_ms } end
        record.lease_ended_ms = math.min(deadline or now, now)
        redis.call("ZREM", leases, target)
        if target == incarnation_token then
            shut_out_incarnation(qmgr, tonumber(incarnation))
        else
            redis.call("HSET", fence, target, now)
        end
    end
    record.by, record.claimant, record.state = by, caller, "CLAIMED"
    record.claimed_ms, record.claims, record.is_unfencing = now, record.claims + 1, nil
    redis.call("HSET", recoveries, target, cjson.encode(record))
    redis.call("ZADD", leases, now + tonumber(ARGV[2]), "!" .. target)
    return { 0 }
end

local answers = {}
for position = FIRST, #ARGV, WORDS do
    answers[#answers + 1] = claim(ARGV[position], ARGV[position + 1], ARGV[position + 2])
end
return { 0, now, answers }
