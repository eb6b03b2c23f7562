--[[
structure/set_partition.lua - bring a part of a partitioned queue to the definition of the group.

Versions come from the group; an older one changes nothing, so repeating and overtaking are harmless. Nor does one
up to that at which the part was deleted: an alter that a delete has overtaken does not bring it back. A part that is shut
(structure/shut_queue) has no definition until it is opened again.

KEYS
  1 queue
  2  sequence  string  counter; only of an application structure: one that has none has lost its queues, or never had any,
                       and gets no part
  3  versions  hash    "RECOVER": nor does one that is being recovered; only with the key before it
ARGV
  1  version
  2  definition  JSON
  3  mode        back: also when it was closed at this version, for a delete that is not to be; "" otherwise
  4  announced   field of versions: the latest version that an ALTER has told; with an older one no part is made. Only
                 with that key
REPLY       { 0, 1 changed, 0 not changed or -1 there can be no part }
REASONS     none
INVARIANTS  5 position (what is on the queue keeps its place)
COST        O(1)
]]
if KEYS[2] then
    if redis.call("EXISTS", KEYS[2]) == 0 then return { 0, -1 } end
    local told = redis.call("HMGET", KEYS[3], "RECOVER", ARGV[4])
    if told[1] or tonumber(told[2] or 0) > tonumber(ARGV[1]) then return { 0, -1 } end
end
local known, version = redis.call("HMGET", KEYS[1], "ver", "gone", "shut"), tonumber(ARGV[1])
if known[3] then return { 0, -1 } end
local present = tonumber(known[1] or 0)
if present >= version then
    -- Told again: Redis has only writers wait for replicas.
    if present == version then redis.call("HSET", KEYS[1], "ver", ARGV[1]) end
    return { 0, 0 }
end
local gone = tonumber(known[2] or 0)
if gone > version or (gone == version and ARGV[3] ~= "back") then return { 0, 0 } end
redis.call("HSET", KEYS[1], "ver", ARGV[1], "def", ARGV[2])
redis.call("HDEL", KEYS[1], "gone")
return { 0, 1 }
