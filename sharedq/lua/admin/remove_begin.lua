--[[
admin/remove_begin.lua - igq group remove: begin to remove a member that is down, or go on with what another began.

From here on nobody starts under its name (admin/join), and nobody sends to it (its entry says so). The caller looks in
the structures for anything against the removal after that, when nothing new can come.

Each attempt has a number, from the counter of the manager's incarnations: later than any that ever ran, earlier than
any that will. A structure refuses steps of an attempt once it has heard of a later number, so one that was paused
undoes nothing that was done since.

While an application structure has failed, or is being recovered, nothing is removed: what it had for the member may come
back, and would be lost. Where a removal is under way, admin/restore_begin refuses a recovery: of the two one is first.
Everything that an earlier attempt has shut is opened then; what is decided (DROPPING) goes on.

KEYS
  1  group       hash  counters; "queues" and a structure: how many are defined there
  2 members, 3 leases, 4 structures, 5 failures
ARGV
  1  qmgr
REPLY       { 0, number of this attempt, stage: SHUTTING, OPENING or DROPPING } | { 1 } there is no such member
            | { 2 } it is running | { 3, target } that has still to be recovered | { 4, target } that is being recovered
            | { 5, structure } that has failed, or is being recovered
REASONS     none
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(members and programs of the group, structures that ever failed)
USES        membership
]]
local members, leases, qmgr, now = KEYS[2], KEYS[3], ARGV[1], now_ms()
local UNKNOWN, RUNNING, LEFT, CLAIMED, FAILED = 1, 2, 3, 4, 5
local known = redis.call("HGET", members, qmgr)
if not known then return { UNKNOWN } end
local info = cjson.decode(known)
local token, left = qmgr .. "." .. string.format("%d", info.incarnation), nil
local entries = redis.call("ZRANGE", leases, 0, -1, "WITHSCORES")
for position = 1, #entries, 2 do
    local target = entries[position]
    if target == token and tonumber(entries[position + 1]) > now then return { RUNNING } end
    -- A process that is being recovered may have left something in any structure, this manager's too.
    if string.sub(target, 1, 1) == "!" then return { CLAIMED, string.sub(target, 2) } end
    if string.sub(target, 1, #qmgr + 1) == qmgr .. "." then left = left or target end
end
if left then return { LEFT, left } end
for _, structure in ipairs(info.stage == "DROPPING" and {} or redis.call("HKEYS", KEYS[5])) do
    -- A manager's own structure has no backup; nor does one without queues come back, or one that was deleted.
    local may_return = string.sub(structure, 1, 1) ~= "@" and redis.call("HEXISTS", KEYS[4], structure) == 1
        and tonumber(redis.call("HGET", KEYS[1], "queues " .. structure) or 0) > 0
    if may_return and string.find(redis.call("HGET", KEYS[5], structure), "^FAILED ") then
        if not info.stage then return { FAILED, structure } end
        info.stage = "OPENING"
    end
end
info.removing = redis.call("HINCRBY", KEYS[1], "incarnation " .. qmgr, 1)
info.stage = info.stage or "SHUTTING"
redis.call("HSET", members, qmgr, cjson.encode(info))
return { 0, info.removing, info.stage }
