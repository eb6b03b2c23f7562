--[[
admin/define_structure.lua - define or alter a structure; a new one gets a number that no other ever has.

KEYS
  1 group, 2 structures, 3 deleted
ARGV
  1  structure
  2  mode        new: must not exist | replace: may exist | alter: must exist as `expected` | keep: change nothing
                 when it exists
  3  expected    JSON, for alter
  4  definition  JSON of the definition; "" for a manager's own structure
REPLY       { 0, number } | { 1, JSON in force } altered meanwhile | { reason, 0 }
REASONS     2100 OBJECT_ALREADY_EXISTS | 2349 CF_STRUC_ERROR
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(1)
]]
local group, structures = KEYS[1], KEYS[2]
local structure, mode, definition = ARGV[1], ARGV[2], ARGV[4]
local CHANGED = 1
local known = redis.call("HGET", structures, structure)
local number = known and cjson.decode(known).number
if mode == "alter" then
    if not known then return { MQRC.CF_STRUC_ERROR, 0 } end
    if known ~= ARGV[3] then return { CHANGED, known } end
elseif known then
    if mode == "new" then return { MQRC.OBJECT_ALREADY_EXISTS, 0 } end
    if mode == "keep" then return { 0, number } end
end
number = number or redis.call("HINCRBY", group, "structure", 1)
local text = '{"number":' .. string.format("%d", number)
if definition ~= "" then text = text .. ',"definition":' .. definition end
redis.call("HSET", structures, structure, text .. "}")
redis.call("SREM", KEYS[3], structure)
return { 0, number }
