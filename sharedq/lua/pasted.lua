--[[
What the loader pastes into scripts, where a function would cost each call a little: `CONST.NAME` becomes the text of a
constant, `INLINE.name(arguments)` the text of a function with the arguments in place of its parameters, on one line.
What returns something is an expression, and has its own brackets; anything else is a block of statements, which may set
a parameter. One may use those above it. See sharedq/redis/pasted_text.py.
]]
-- No record of a queue is longer unless the queue says so (`lg`, see docs/reference/key-space.md): bytes.
local LONG = 10240
-- MAXDEPTH as an argument: no limit.
local NO_DEPTH_LIMIT = "999999999"
-- A score is a priority's step and an arrival number.
local PRIORITY_STEP = (2 ^ 48)
-- Added to the score of an expired message that waits to be reported, which puts it in front of all times in `expiry`.
local WAITS_TO_BE_TOLD = (-2 ^ 52)

local function entry(stream, limit, ...)
    return redis.call("XADD", stream, "MAXLEN", "~", limit, "*", ...)
end

-- The message journal is off when the limit is "0".
local function journal(stream, limit, ...)
    if limit ~= "0" then entry(stream, limit, ...) end
end

-- How many messages a queue has: available, and by its counters put and locked and members of groups.
local function depth(available, put, locked, members)
    return (redis.call("ZCARD", available) + (put or 0) + (locked or 0) + (members or 0))
end

local function is_full(depth_max, count, available, put, locked, members)
    return (depth_max ~= NO_DEPTH_LIMIT and depth(available, put, locked, members) + count > tonumber(depth_max))
end

-- Whether a wake list still holds a message: that stands first, and has a newline.
local function is_on_its_way(wake_key)
    return string.find(redis.call("LRANGE", wake_key, 0, 0)[1] or "", "\n", 1, true)
end

-- Of gets in a unit of work (prelude/unit_of_work): how many, the queue, ids; nil for puts.
local function gets_in(element)
    return string.match(element, "^[GS](%d+)\n([^\n]*)\n([^\n]*)\n")
end

local function remove_records(messages, ids_text)
    local gone = {}
    for id in string.gmatch(ids_text, "[^ ]+") do gone[#gone + 1] = id end
    redis.call("HDEL", messages, unpack(gone))
end

-- Gives a queue's name a destination code (prelude/destinations), and sets `code`.
local function make_code(code, destinations, name)
    redis.call("HSETNX", destinations, "#", math.floor(redis.call("HLEN", destinations) / 2))
    repeat
        code = string.format("%.0f", redis.call("HINCRBY", destinations, "#", 1) % 2 ^ 32)
    until code ~= "0" and redis.call("HEXISTS", destinations, "#" .. code) == 0
    redis.call("HSET", destinations, name, code, "#" .. code, name)
end
