--[[
structure/tidy.lua - igq fsck: remove an entry about a message or a handle that is not there, or recount a queue.

KEYS
  1 own, 2 queue, 3 available, 4 members, 5 index, 6 groups, 7 waiters, 8 handles, 9 locks, 10 marks,
  11 messages, 12 expiry, 13 dead
  14.. with counter: units of work, those of each owner here and those that are prepared; with marks: the holder's set
ARGV
  1  caller  owner token of the one who repairs
  2  what    index | expiry | mark | marks | group | counter
  3  name    the entry; the field of a counter; the holder of marks
  4  id      message id, of an index entry or a mark, or an expiry time; with counter: the queue's name
  5  said    with counter, what it says
  6  there   with counter, what it must be: set only where this finds the same
  7  owners  with counter, how many owners have keys here
REPLY       { 0, 1 repaired or 0 it is explained by now } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing
COST        O(log depth); with counter O(handles + operations of units of work), which the caller limits
USES        fence, unit_of_work
]]
local own, queue, what, name, id = KEYS[1], KEYS[2], ARGV[2], ARGV[3], ARGV[4]
if is_fenced(own, ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local function is_available()
    return redis.call("ZSCORE", KEYS[3], id) or redis.call("ZSCORE", KEYS[4], id)
end

if what == "index" then
    -- Entries without an id are about members.
    if id == "" and redis.call("ZCARD", KEYS[4]) > 0 or id ~= "" and is_available() then return { 0, 0 } end
    return { 0, redis.call("ZREM", KEYS[5], name) }
elseif what == "expiry" then
    if is_available() then return { 0, 0 } end
    return { 0, redis.call("ZREM", KEYS[12], name) }
elseif what == "mark" then
    if redis.call("HEXISTS", KEYS[11], id) == 1 then return { 0, 0 } end
    local removed = redis.call("HDEL", KEYS[10], id)
    if redis.call("HLEN", KEYS[10]) == 0 then redis.call("HDEL", queue, "mk") end
    return { 0, removed }
elseif what == "marks" then
    if id ~= "" then
        if is_available() then return { 0, 0 } end
        return { 0, redis.call("ZREM", KEYS[14], id) }
    end
    local is_there = redis.call("HEXISTS", KEYS[8], name) == 1
    if name == "C" then is_there = tonumber(redis.call("HGET", queue, "co") or 0) > 0 end
    if name == "M" then is_there = redis.call("HEXISTS", queue, "ver") == 1 end
    return { 0, is_there and 0 or redis.call("UNLINK", KEYS[14]) }
elseif what == "group" then
    if redis.call("ZCARD", KEYS[4]) > 0 then return { 0, 0 } end
    return { 0, redis.call("UNLINK", KEYS[6]) }
end

local function uncommitted(is_put)
    if redis.call("HLEN", own) + redis.call("HLEN", KEYS[13]) > tonumber(ARGV[7]) then return nil end
    local count = 0
    for key = 14, #KEYS do
        local elements = redis.call("LRANGE", KEYS[key], 1, -1)
        for _, element in ipairs(elements) do
            local operation = read_operation(element)
            if operation.queue == id and (operation.kind == "P") == is_put then count = count + operation.count end
        end
    end
    return count
end

local function handles_with(letters)
    local count = 0
    for _, mode in ipairs(redis.call("HVALS", KEYS[8])) do
        if string.find(string.match(mode, "^%a*"), letters) then count = count + 1 end
    end
    return count
end

local function locked()
    local count = 0
    for _, text in ipairs(redis.call("HVALS", KEYS[9])) do
        for _ in string.gmatch(text, "%S+") do count = count + 1 end
    end
    return count
end

local there
if name == "ip" then there = handles_with("[IX]")
elseif name == "op" then there = handles_with("O")
elseif name == "co" then there = handles_with("C")
elseif name == "xo" then there = math.min(handles_with("X"), 1)
elseif name == "nw" then there = redis.call("ZCARD", KEYS[7])
elseif name == "gm" then there = redis.call("ZCARD", KEYS[4])
elseif name == "mk" then there = math.min(redis.call("HLEN", KEYS[10]), 1)
elseif name == "lk" then there = locked()
else there = uncommitted(name == "pu")
end
local says = tonumber(redis.call("HGET", queue, name) or 0)
if says ~= tonumber(ARGV[5]) or there ~= tonumber(ARGV[6]) then return { 0, 0 } end
if there == 0 then redis.call("HDEL", queue, name) else redis.call("HSET", queue, name, there) end
if name == "ip" then INLINE.note_look(queue) end
if name == "pu" or name == "lk" or name == "gm" then
    local came, went = math.max(there - says, 0), math.max(says - there, 0)
    INLINE.note_change(queue, KEYS[3], id, ARGV[1], came, went)
end
return { 0, 1 }
