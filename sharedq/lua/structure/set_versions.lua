--[[
structure/set_versions.lua - tell a structure that definitions which handles went through have changed.

A value is a version, or a version and a state after a colon. An older one changes nothing, so repeating and
overtaking are harmless.

KEYS
  1  versions  hash  what handles check
ARGV
  1.. pairs of field and value
REPLY       number of fields that changed
REASONS     none
INVARIANTS  none
COST        O(pairs)
]]
local changed = 0
for position = 1, #ARGV, 2 do
    local known = redis.call("HGET", KEYS[1], ARGV[position])
    local version = tonumber(string.match(ARGV[position + 1], "^%d+"))
    local before = known and tonumber(string.match(known, "^%d+")) or -1
    if before <= version then
        -- Told again, too: Redis has only writers wait for replicas.
        redis.call("HSET", KEYS[1], ARGV[position], ARGV[position + 1])
        changed = changed + (before < version and 1 or 0)
    end
end
return changed
