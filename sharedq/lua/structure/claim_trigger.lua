--[[
structure/claim_trigger.lua - before a trigger message of TRIGTYPE(FIRST) or (DEPTH) is written: look once more whether the
conditions hold, and note that it is owed, in one moment. DEPTH turns TRIGGER off here, so that a program that sets it again is
not undone by the message that started it.

The definition gets no new version, because nothing that a put or a get decides depends on it.

KEYS
  1 own
  2  versions   hash  "TRIGGER": the connection that writes the trigger messages of this structure
  3 owed, 4 queue, 5 available
ARGV
  1  caller     owner token
  2  found      the field of owed that was looked at
  3  count      how often it had come
  4  claimed    the field that stands there until the trigger message is written
  5  is_again   1: also where a trigger message was written before, which may be lost
REPLY       { 0, 1 claimed | 0 the conditions do not hold } | { 1 } another connection writes them | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing
COST        O(log depth)
USES        fence
]]
local owed, queue, ANOTHER = KEYS[3], KEYS[4], 1
if is_fenced(KEYS[1], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
if redis.call("HGET", KEYS[2], "TRIGGER") ~= ARGV[1] then return { ANOTHER } end
local is_there
INLINE.settle(owed, ARGV[2], ARGV[3], is_there)
if not is_there then return { 0, 0 } end
local known = redis.call("HMGET", queue, "def", "ev", "ip", "gm", "tt")
local letter, least, wanted = string.match(known[2] or "", " ([FD]) (%d) (%d+)$")
if not letter or tonumber(known[3] or 0) > 0 or not string.find(known[1] or "", "\"get\":\"ENABLED\"", 1, true) then
    return { 0, 0 }
end
if letter == "F" and known[5] and ARGV[5] ~= "1" then return { 0, 0 } end
local below = string.format("(%.0f", (10 - least) * CONST.PRIORITY_STEP)
local held = redis.call("ZCOUNT", KEYS[5], "-inf", below) + (known[4] or 0)
if held < tonumber(letter == "D" and wanted or 1) then return { 0, 0 } end
if letter == "D" then
    local text = string.gsub(known[1], "(\"trigger_control\":)\"TRIGGER\"", "%1\"NOTRIGGER\"")
    redis.call("HSET", queue, "def", text)
    INLINE.arm_events(queue, text)
else
    local now = redis.call("TIME")
    redis.call("HSET", queue, "tt", string.format("%.0f", now[1] * 1000 + math.floor(now[2] / 1000)))
end
redis.call("HSET", owed, ARGV[4], 1)
return { 0, 1 }
