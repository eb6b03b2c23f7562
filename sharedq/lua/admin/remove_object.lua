--[[
admin/remove_object.lua - take an object out of the directory, if it is still the one that the caller means.

KEYS
  1 group, 2 directory
ARGV
  1  field      of the directory
  2  expected   version of the entry
REPLY       { 1 removed | 0 another definition took its place or it is gone, a version later than the entry's }
REASONS     none
INVARIANTS  none
COST        O(1)
]]
local group, directory = KEYS[1], KEYS[2]
local known = redis.call("HGET", directory, ARGV[1])
local entry = known and cjson.decode(known)
local version = redis.call("HINCRBY", group, "definition", 1)
if not entry or string.format("%d", entry.version) ~= ARGV[2] then return { 0, version } end
redis.call("HDEL", directory, ARGV[1])
if entry.structure then redis.call("HINCRBY", group, "queues " .. entry.structure, -1) end
return { 1, version }
