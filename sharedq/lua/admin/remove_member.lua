--[[
admin/remove_member.lua - igq group remove: the next stage of an attempt; in the end the member is gone.

Three numbers stay, so that nothing of before can pass for the next manager of this name: the counter of its
incarnations, the last of them as dead, and one failure more of its structure, by which those that had entered that go.

KEYS
  1 group, 2 members, 3 fence, 4 structures, 5 failures, 6 qmgr, 7 agents, 8 directory, 9 own, 10 processes,
  11 recoveries, 12 completed
ARGV
  1  qmgr
  2  attempt    its number
  3  stage      OPENING: it is refused, what was shut is opened again | "" that is done, the member is as it was
                | DROPPING: nothing stands against it, which is decided | GONE: nothing is left but the member itself
  4  structure  the manager's own
  5.. pairs: kind (object, own, process, fence, recovery, completed) and field to forget, when DROPPING
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN (another attempt goes on with it, or has ended it)
INVARIANTS  2 fencing
COST        O(fields given)
USES        membership
]]
local group, members, fence, structures, failures = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local qmgr, attempt, stage, structure = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local known = redis.call("HGET", members, qmgr)
local info = known and cjson.decode(known)
if not info or info.removing ~= attempt then return { MQRC.CONNECTION_BROKEN } end
-- An attempt that has begun to drop cannot open again, and one that has begun to open neither shuts nor drops.
local next_ones = { SHUTTING = "OPENING DROPPING", OPENING = "", DROPPING = "DROPPING GONE" }
local is_next = stage == next_ones[info.stage] or stage ~= "" and string.find(next_ones[info.stage], stage, 1, true)
if not is_next then return { MQRC.CONNECTION_BROKEN } end
if stage == "GONE" then
    redis.call("HDEL", members, qmgr)
    redis.call("HDEL", KEYS[6], qmgr)
    redis.call("HDEL", KEYS[7], qmgr)
    redis.call("HDEL", group, "queues " .. structure)
    return { 0 }
end
info.stage = stage
if stage == "" then info.stage, info.removing = nil, nil end
redis.call("HSET", members, qmgr, cjson.encode(info))
if stage ~= "DROPPING" then return { 0 } end

redis.call("HSET", fence, qmgr, attempt)
if redis.call("HDEL", structures, structure) == 1 then
    local count = string.match(redis.call("HGET", failures, structure) or "", "%d+$") or 0
    redis.call("HSET", failures, structure, string.format("ACTIVE %.0f %d", now_ms(), count + 1))
end
local keys = { object = KEYS[8], own = KEYS[9], process = KEYS[10], fence = fence, recovery = KEYS[11] }
for position = 5, #ARGV, 2 do
    local kind, field = ARGV[position], ARGV[position + 1]
    if kind == "completed" then
        redis.call("ZREM", KEYS[12], field)
    else
        redis.call("HDEL", keys[kind], field)
    end
end
return { 0 }
