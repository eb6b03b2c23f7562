--[[
admin/define_named.lua - define, alter or delete a process definition or a namelist, if it is still what the change was
made from.

KEYS
  1  definitions  hash  name -> JSON
ARGV
  1  name
  2  expected    JSON in force, "" for none
  3  definition  JSON, "" deletes it
REPLY       1 changed | 0 another definition is in force
REASONS     none
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(1)
]]
if (redis.call("HGET", KEYS[1], ARGV[1]) or "") ~= ARGV[2] then return 0 end
if ARGV[3] == "" then
    redis.call("HDEL", KEYS[1], ARGV[1])
else
    redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
end
return 1
