--[[
admin/structure_state.lua - it was seen that a structure has failed, or can be used again: tell the group, once.

The process that sees it looks at the record first, then at the structure, and tells here. When another process has told
something meanwhile, nothing is changed: what was seen may be older than that.

KEYS
  1  members   hash  "!structures": how many changes, of structures and settings, were told, which every renewal of a lease learns
  2 failures
ARGV
  1  structure
  2  state     FAILED or ACTIVE
  3  expected  the record as it was, or ""
REPLY       1 told | 0 it was known, or another record is there
REASONS     none
INVARIANTS  none
COST        O(1)
USES        membership
]]
local known = redis.call("HGET", KEYS[2], ARGV[1]) or ""
local state, count = string.match(known, "^(%u+) %d+ (%d+)$")
if known ~= ARGV[3] or (state or "ACTIVE") == ARGV[2] then return 0 end
if ARGV[2] == "FAILED" then count = (count or 0) + 1 end
redis.call("HSET", KEYS[2], ARGV[1], string.format("%s %.0f %d", ARGV[2], now_ms(), count))
redis.call("HINCRBY", KEYS[1], "!structures", 1)
return 1
