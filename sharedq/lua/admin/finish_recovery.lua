--[[
admin/finish_recovery.lua - everything that some dead ones left is resolved: free their tags, forget them.

Called as often as it takes, with some of what there is to forget each time; a target's last part ends the claim on it.

KEYS
  1 leases, 2 recoveries, 3 fence, 4 tags, 5 own, 6 processes, 7 decisions
ARGV
  1  caller    owner token of the recoverer
  2  claim_ms
  3.. for each target: target, 1 where this is its last part, how many pairs, and the pairs: kind (tag, own, process,
      decision, fence, recovery) and field
REPLY       { 0, answers } one for each target: JSON of the recovery, or nil: somebody else took over
REASONS     none
INVARIANTS  2 fencing, 3 one decision, 6 sequence under failure
COST        O(targets * log members + fields given, and users of the tags among them)
USES        membership, recoverer, tags
]]
local leases, recoveries, fence, tags, caller = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
local keys = { own = KEYS[5], process = KEYS[6], decision = KEYS[7], fence = fence, recovery = recoveries }
local now, answers = now_ms(), {}

local function forget(target, kind, field)
    if kind ~= "tag" then
        redis.call("HDEL", keys[kind], field)
        return
    end
    -- The recovery of a connection may have freed it already, and somebody living may hold it now.
    local users = redis.call("HGET", tags, field)
    set_users(tags, field, users_without(users, function(user)
        -- A prepared unit of work ("/") keeps it until it has ended.
        return is_under(user, target) and not string.find(user, "/", 1, true)
    end))
end

local function finish(target, is_last, first, last)
    local record = claimed_record(recoveries, keys.own, fence, target, caller)
    if not record then return false end
    for position = first, last, 2 do forget(target, ARGV[position], ARGV[position + 1]) end
    record.seconds = (now - record.detected_ms) / 1000
    -- From here on the fences in the structures go: one that is set there now is of no use (recovery/resolution.py).
    record.is_unfencing = true
    if is_last then
        record.state, record.resolved_ms = "RESOLVED", now
        redis.call("ZREM", leases, "!" .. target)
    else
        redis.call("ZADD", leases, "XX", now + tonumber(ARGV[2]), "!" .. target)
    end
    local text = cjson.encode(record)
    redis.call("HSET", recoveries, target, text)
    return text
end

local position = 3
while position < #ARGV do
    local first = position + 3
    local last = first + 2 * tonumber(ARGV[position + 2]) - 1
    answers[#answers + 1] = finish(ARGV[position], ARGV[position + 1] == "1", first, last)
    position = last + 1
end
return { 0, answers }
