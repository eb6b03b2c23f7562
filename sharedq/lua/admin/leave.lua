--[[
admin/leave.lua - a queue manager that nobody uses any more gives up its lease and its name.

Only with nothing left under its incarnation: what is left must be recovered. The manager's own processes go with it.

KEYS
  1 leases, 2 members, 3 fence, 4 processes
ARGV
  1 qmgr, 2 incarnation
  3.. tokens of its own processes; their connections have ended
REPLY       { 0 } | { 1 } something is left: recover it | { reason }
REASONS     2009 CONNECTION_BROKEN (another incarnation holds the name, or a peer recovers this one)
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(members and programs of the group)
]]
local leases, members, fence, processes = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local qmgr, incarnation, LEFT = ARGV[1], ARGV[2], 1
local token = qmgr .. "." .. incarnation
local known = redis.call("HGET", members, qmgr)
local info = known and cjson.decode(known)
if not info or info.incarnation ~= tonumber(incarnation) then return { MQRC.CONNECTION_BROKEN } end
if not redis.call("ZSCORE", leases, token) then return { MQRC.CONNECTION_BROKEN } end
local own = {}
for position = 3, #ARGV do own[ARGV[position]] = true end
for _, member in ipairs(redis.call("ZRANGE", leases, 0, -1)) do
    local bare = string.sub(member, 1, 1) == "!" and string.sub(member, 2) or member
    if string.sub(bare, 1, #token + 1) == token .. "." and not own[member] then return { LEFT } end
end
info.state = "STOPPED"
redis.call("HSET", members, qmgr, cjson.encode(info))
redis.call("ZREM", leases, token)
redis.call("HSET", fence, qmgr, incarnation)
for position = 3, #ARGV do
    redis.call("ZREM", leases, ARGV[position])
    redis.call("HDEL", processes, ARGV[position])
end
return { 0 }
