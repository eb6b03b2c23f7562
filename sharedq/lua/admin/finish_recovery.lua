--[[
admin/finish_recovery.lua - everything the dead one left is resolved: free its tags, forget it.

Called as often as it takes, with some of what there is to forget each time; the last call ends the claim.

KEYS
  1  leases      zset
  2  recoveries  hash  target -> JSON
  3  fence       hash  dead incarnations, processes and connections
  4  tags        hash  tag -> who uses it
  5  own         hash  registered connections
  6  processes   hash  process -> JSON
  7  decisions   hash  unit of work -> structures
ARGV
  1  target
  2  caller    owner token of the recoverer
  3  claim_ms  "" in the last call
  4.. pairs: kind (tag, own, process, decision, fence, recovery), field
REPLY       { 0, JSON of the recovery } | { 1 } somebody else took over
REASONS     none
INVARIANTS  2 fencing, 3 one decision, 6 sequence under failure
COST        O(fields given, and users of the tags among them)
USES        membership, recoverer, tags
]]
local leases, recoveries, fence, tags, target = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
local keys = { own = KEYS[5], process = KEYS[6], decision = KEYS[7], fence = fence, recovery = recoveries }
local LOST = 1
local record = claimed_record(recoveries, fence, target, ARGV[2])
if not record then return { LOST } end
for position = 4, #ARGV, 2 do
    local kind, field = ARGV[position], ARGV[position + 1]
    if kind == "tag" then
        -- The recovery of a connection may have freed it already, and somebody living may hold it now.
        local users = redis.call("HGET", tags, field)
        set_users(tags, field, users_without(users, function(user)
            -- A prepared unit of work ("/") keeps it until it has ended.
            return is_under(user, target) and not string.find(user, "/", 1, true)
        end))
    else
        redis.call("HDEL", keys[kind], field)
    end
end
local now = now_ms()
record.seconds = (now - record.detected_ms) / 1000
if ARGV[3] == "" then
    record.state, record.resolved_ms = "RESOLVED", now
    redis.call("ZREM", leases, "!" .. target)
else
    redis.call("ZADD", leases, "XX", now + tonumber(ARGV[3]), "!" .. target)
end
local text = cjson.encode(record)
redis.call("HSET", recoveries, target, text)
return { 0, text }
