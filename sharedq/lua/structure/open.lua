--[[
structure/open.lua - MQOPEN of a local queue: register the handle, hand out the definition in force.

The definitions that the name led through are compared in the same moment: the program has every registered handle.

KEYS
  1 own, 2 queue, 3 handles, 4 holdings
  5  versions  hash  what the handle checks
  6  made      set   queues that go with the caller; only where this MQOPEN made the queue, for good
ARGV
  1 owner, 2 queue_name
  3  handle     number of the handle, unique for the owner
  4  mode       letters of prelude/handles; lower-case "i": input as the queue's definition says
  5  detail     what DISPLAY QSTATUS TYPE(HANDLE) shows (JSON)
  6.. what the handle checks: a field of versions, and the value it must have
REPLY       { 0, version, definition } | { 1 } the name has to be resolved again | { reason }
REASONS     2009 CONNECTION_BROKEN | 2085 UNKNOWN_OBJECT_NAME | 2052 Q_DELETED | 2042 OBJECT_IN_USE
INVARIANTS  2 fencing
COST        O(1), and definitions on the way
USES        fence
]]
local own, queue, handles, holdings = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, mode = ARGV[1], ARGV[4]
local CHANGED, FIRST = 1, 6
if is_fenced(own, owner) then return { MQRC.CONNECTION_BROKEN } end
for position = FIRST, #ARGV, 2 do
    if (redis.call("HGET", KEYS[5], ARGV[position]) or "") ~= ARGV[position + 1] then return { CHANGED } end
end
local state = redis.call("HMGET", queue, "ver", "def", "ip", "xo", "iq", "del", "tt")
if not state[1] then return { state[6] and MQRC.Q_DELETED or MQRC.UNKNOWN_OBJECT_NAME } end

if string.find(mode, "[iI]") then
    local definition = cjson.decode(state[2])
    mode = string.gsub(mode, "i", definition.def_input_open_option == "EXCL" and "X" or "I")
    -- A program that opens it for input has it alone, whatever the open asked for.
    if definition.shareability == "NOSHARE" then mode = string.gsub(mode, "I", "X") end
end
if string.find(mode, "X", 1, true) then
    if tonumber(state[3] or 0) > 0 then return { MQRC.OBJECT_IN_USE } end
    redis.call("HSET", queue, "xo", "1")
elseif string.find(mode, "I", 1, true) and state[4] then
    return { MQRC.OBJECT_IN_USE }
end
if string.find(mode, "[IX]") and redis.call("HINCRBY", queue, "ip", 1) == 1 then
    -- A program serves it: what is left when that closes it is triggered again.
    if state[7] then redis.call("HDEL", queue, "tt") end
    -- An initiation queue: what was not triggered while nobody had it open is triggered now.
    if state[5] then INLINE.owe_trigger(queue, "O " .. ARGV[2], 1) end
end
if string.find(mode, "O", 1, true) then redis.call("HINCRBY", queue, "op", 1) end
if string.find(mode, "C", 1, true) then redis.call("HINCRBY", queue, "co", 1) end
redis.call("HSET", handles, owner .. "#" .. ARGV[3], mode .. " " .. ARGV[5])
redis.call("SADD", holdings, ARGV[2] .. "\n" .. ARGV[3])
if KEYS[6] then
    redis.call("HDEL", queue, "by")
    redis.call("SREM", KEYS[6], ARGV[2])
end
return { 0, state[1], state[2] }
