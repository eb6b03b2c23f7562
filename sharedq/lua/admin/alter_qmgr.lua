--[[
admin/alter_qmgr.lua - change a manager's attributes, if they are still those that the change was made from.

The command tells every structure afterwards what IGQ is now. With its next renewal the manager finds in its own entry
among the members that this is to be done, and does it too: the process that ran the command may be gone by then.

KEYS
  1 group, 2 qmgr, 3 members
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
local member = ARGV[4] == "1" and redis.call("HGET", KEYS[3], ARGV[1])
member = member and cjson.decode(member)
if ARGV[4] == "1" or not version then version = redis.call("HINCRBY", group, "definition", 1) end
local text = '{"igq_version":' .. string.format("%d", version) .. ',"attributes":' .. ARGV[3] .. "}"
redis.call("HSET", qmgr, ARGV[1], text)
if member then
    member.igq_version = version
    redis.call("HSET", KEYS[3], ARGV[1], cjson.encode(member))
end
return { 0, text }
