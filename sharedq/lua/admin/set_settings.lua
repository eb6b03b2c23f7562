--[[
admin/set_settings.lua - change the settings that belong to the group, if they are still those that the change was made
from. Every renewal of a lease learns that something was told, and looks.

KEYS
  1  group    hash  "settings": JSON
  2  members  hash  "!structures": how many changes were told
ARGV
  1  expected  JSON in force, "" for none
  2  settings  JSON
REPLY       1 changed | 0 other ones are in force
REASONS     none
INVARIANTS  none
COST        O(1)
]]
if (redis.call("HGET", KEYS[1], "settings") or "") ~= ARGV[1] then return 0 end
redis.call("HSET", KEYS[1], "settings", ARGV[2])
redis.call("HINCRBY", KEYS[2], "!structures", 1)
return 1
