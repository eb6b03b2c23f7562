--[[
structure/take_triggers.lua - read a page of what there is to look at for trigger messages.

One connection does that for a structure, that of a manager. If it is shut out, another takes its place, and finds what it had
not finished: a trigger message may then be written twice, and none is lost.

KEYS
  1 own
  2  versions  hash    "TRIGGER": the connection that writes the trigger messages of this structure
  3 owed, 4 triggers
ARGV
  1  caller    owner token
  2  cursor    of the page before; 0 the first
  3  count     fields that Redis looks at, about
REPLY       { 0, 1 the caller takes the place of another, cursor, 0 at the end, id of the entry, { field, how often, ... } }
            | { 1 } another connection writes them | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 4 bounded
COST        O(count)
USES        fence
]]
local own, versions, caller = KEYS[1], KEYS[2], ARGV[1]
if is_fenced(own, caller) then return { MQRC.CONNECTION_BROKEN } end
local holder, ANOTHER = redis.call("HGET", versions, "TRIGGER") or "", 1
if holder ~= "" and holder ~= caller and not is_fenced(own, holder) then return { ANOTHER } end
local last = redis.call("XREVRANGE", KEYS[4], "+", "-", "COUNT", 1)[1]
local page = redis.call("HSCAN", KEYS[3], ARGV[2], "COUNT", ARGV[3])
if holder ~= caller then redis.call("HSET", versions, "TRIGGER", caller) end
return { 0, holder ~= caller and 1 or 0, page[1], last and last[1] or "0-0", page[2] }
