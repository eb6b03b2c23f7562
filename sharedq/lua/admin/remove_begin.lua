--[[
admin/remove_begin.lua - igq group remove: begin to remove a member that is down, or go on with what another began.

From here on nobody starts under its name (admin/join), and nobody sends to it (its entry says so). What stands against
the removal in the structures is looked for behind that, when nothing new can come.

Each attempt has a number, from the counter of the manager's incarnations: later than any that ever ran, earlier than
any that will. A structure refuses steps of an attempt once it has heard of a later number, so one that was paused
undoes nothing that was done since.

KEYS
  1  group    hash  counters
  2  members  hash  manager -> JSON
  3  leases   zset  incarnation, process or connection -> deadline; "!"+target -> deadline of a claim
ARGV
  1  qmgr
REPLY       { 0, number of this attempt, stage: SHUTTING, OPENING or DROPPING } | { 1 } there is no such member
            | { 2 } it is running | { 3, target } that has still to be recovered | { 4, target } that is being recovered
REASONS     none
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(members and programs of the group)
USES        membership
]]
local members, leases, qmgr, now = KEYS[2], KEYS[3], ARGV[1], now_ms()
local UNKNOWN, RUNNING, LEFT, CLAIMED = 1, 2, 3, 4
local known = redis.call("HGET", members, qmgr)
if not known then return { UNKNOWN } end
local info = cjson.decode(known)
local token, left = qmgr .. "." .. string.format("%d", info.incarnation), nil
local entries = redis.call("ZRANGE", leases, 0, -1, "WITHSCORES")
for position = 1, #entries, 2 do
    local target = entries[position]
    if target == token and tonumber(entries[position + 1]) > now then return { RUNNING } end
    -- Whoever is recovered may have left something in any structure, this manager's too.
    if string.sub(target, 1, 1) == "!" then return { CLAIMED, string.sub(target, 2) } end
    if string.sub(target, 1, #qmgr + 1) == qmgr .. "." then left = left or target end
end
if left then return { LEFT, left } end
info.removing = redis.call("HINCRBY", KEYS[1], "incarnation " .. qmgr, 1)
info.stage = info.stage or "SHUTTING"
redis.call("HSET", members, qmgr, cjson.encode(info))
return { 0, info.removing, info.stage }
