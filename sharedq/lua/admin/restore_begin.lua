--[[
admin/restore_begin.lua - RECOVER CFSTRUCT is about to begin: the group learns that the structure has failed.

Not while a member is being removed: its part of the structure was looked at, and what came back there would be lost, or
found by the next manager of its name. Until the structure can be used again, admin/remove_begin refuses a removal.

KEYS
  1  members   hash  manager -> JSON; "!structures": how many changes were told, which every renewal of a lease learns
  2 failures
ARGV
  1  structure
REPLY       { 0 } | { 1, manager } that is being removed
REASONS     none
INVARIANTS  none
COST        O(members)
USES        membership
]]
local members, failures, structure = KEYS[1], KEYS[2], ARGV[1]
for _, qmgr in ipairs(redis.call("HKEYS", members)) do
    local is_manager = string.sub(qmgr, 1, 1) ~= "!"
    if is_manager and cjson.decode(redis.call("HGET", members, qmgr)).removing then return { 1, qmgr } end
end
local state, count = string.match(redis.call("HGET", failures, structure) or "", "^(%u+) %d+ (%d+)$")
if state ~= "FAILED" then
    redis.call("HSET", failures, structure, string.format("FAILED %.0f %d", now_ms(), (count or 0) + 1))
    redis.call("HINCRBY", members, "!structures", 1)
end
return { 0 }
