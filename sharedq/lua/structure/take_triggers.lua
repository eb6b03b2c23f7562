--[[
structure/take_triggers.lua - forget the notes that trigger messages were written for, and read the oldest of the others.

One connection does that for a structure, that of a manager. If it is shut out, another takes its place, and finds the
notes that it had not finished: a trigger message may then be written twice, and none is lost.

KEYS
  1  own       hash    registered owners (the fence)
  2  versions  hash    "TRIGGER": the connection that writes the trigger messages of this structure
  3  triggers  stream  the notes
ARGV
  1  caller    owner token
  2  count     notes to read, at most
  3.. ids of the notes that are done
REPLY       { 0, { { id, { field, value, ... } }, ... } } | { 1 } another connection writes them | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 4 bounded
COST        O(count + notes done)
USES        fence
]]
local own, versions, caller = KEYS[1], KEYS[2], ARGV[1]
if is_fenced(own, caller) then return { MQRC.CONNECTION_BROKEN } end
local holder, ANOTHER = redis.call("HGET", versions, "TRIGGER") or "", 1
if holder ~= caller then
    if holder ~= "" and not is_fenced(own, holder) then return { ANOTHER } end
    redis.call("HSET", versions, "TRIGGER", caller)
else
    for position = 3, #ARGV do redis.call("XDEL", KEYS[3], ARGV[position]) end
end
return { 0, redis.call("XRANGE", KEYS[3], "-", "+", "COUNT", ARGV[2]) }
