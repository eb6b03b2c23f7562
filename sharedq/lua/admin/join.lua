--[[
admin/join.lua - a queue manager takes its name: a new incarnation and a lease.

The lease of the incarnation before it, which has run out, stays until that is recovered: by its entry the watch finds
it. Nobody can renew it any more (admin/renew), however late its manager wakes up.

KEYS
  1  group    hash  counters; "settings": JSON of those that belong to the group; "format" of the key space; "born": when it began
  2 members, 3 leases, 4 fence
ARGV
  1  qmgr
  2  lease_ms  where the group has none recorded
  3  info      JSON of the member, without state and incarnation
  4  own       an incarnation of the caller's that has ended, or 0: the new one is later, also where Redis has lost
               all it had
  5  settings  those of the caller: they become the group's where that has none; may be left out
  6  speaks    the oldest and the newest format that the caller works with: a new group is of the newest
REPLY       { 0, incarnation, settings of the group or "" }
            | { 1, ms left of the lease in force, incarnation that holds it, settings }
            | { 2 } it is being removed from the group (admin/remove_begin)
            | { 3, format } the caller does not speak the format of the group
REASONS     none
INVARIANTS  2 fencing
COST        O(log members)
USES        membership, formats
]]
local group, members, leases, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local qmgr = ARGV[1]
local settings = redis.call("HGET", group, "settings")
local now, NAME_TAKEN, REMOVED, FOREIGN = now_ms(), 1, 2, 3

local format = settings and foreign_format(group, ARGV[6])
if format then return { FOREIGN, format } end

local known = redis.call("HGET", members, qmgr)
if known then
    local member = cjson.decode(known)
    if member.removing then return { REMOVED } end
    local incarnation = member.incarnation
    local deadline = redis.call("ZSCORE", leases, qmgr .. "." .. string.format("%d", incarnation))
    if deadline and tonumber(deadline) > now then return { NAME_TAKEN, tonumber(deadline) - now, incarnation, settings or "" } end
end
local info = cjson.decode(ARGV[3])
local lease_ms = settings and cjson.decode(settings).lease_ms or tonumber(ARGV[2])
if not settings and ARGV[5] then
    settings = ARGV[5]
    redis.call("HSET", group, "settings", settings, "born", now)
    if ARGV[6] then redis.call("HSET", group, "format", string.match(ARGV[6], "%d+$")) end
end
local counter, own = "incarnation " .. qmgr, tonumber(ARGV[4])
if own > tonumber(redis.call("HGET", group, counter) or 0) then redis.call("HSET", group, counter, own) end
local incarnation = redis.call("HINCRBY", group, counter, 1)
info.state, info.incarnation, info.started_ms = "STARTING", incarnation, now
redis.call("HSET", members, qmgr, cjson.encode(info))
redis.call("ZADD", leases, now + lease_ms, qmgr .. "." .. incarnation)
return { 0, incarnation, settings or "" }
