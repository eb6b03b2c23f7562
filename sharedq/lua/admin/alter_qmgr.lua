--[[
admin/alter_qmgr.lua - change a manager's attributes, if they are still those that the change was made from.

KEYS
  1  group  hash  counters
  2  qmgr   hash  manager -> JSON
ARGV
  1  qmgr
  2  expected      JSON in force, "" for none
  3  attributes    JSON of the attributes
  4  igq_changes   1: handles opened before must notice (IGQ was altered)
REPLY       { 0, JSON } | { 1, JSON in force or "" } altered meanwhile
REASONS     none
INVARIANTS  none
COST        O(1)
]]
local group, qmgr = KEYS[1], KEYS[2]
local CHANGED = 1
local known = redis.call("HGET", qmgr, ARGV[1]) or ""
if known ~= ARGV[2] then return { CHANGED, known } end
local version = known ~= "" and cjson.decode(known).igq_version
if ARGV[4] == "1" or not version then version = redis.call("HINCRBY", group, "definition", 1) end
local text = '{"igq_version":' .. string.format("%d", version) .. ',"attributes":' .. ARGV[3] .. "}"
redis.call("HSET", qmgr, ARGV[1], text)
return { 0, text }
