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

-- Events about the depth of a queue (docs/how-to/events.md). Where its definition asks for them, its hash has `eh`, the
-- depth from which a put is told of, and `el`, the depth down to which a get is.
local function arm_events(queue, text)
    local its_max, at_most = string.match(text, "\"max_depth\":(%d+)"), string.match(text, "\"depth_low_limit\":(%d+)")
    local at_least = string.match(text, "\"depth_high_limit\":(%d+)")
    redis.call("HDEL", queue, "eh", "el")
    if string.find(text, "\"depth_high_event\":\"ENABLED\"", 1, true) then
        redis.call("HSET", queue, "eh", math.ceil(its_max * at_least / 100))
    end
    if string.find(text, "\"depth_low_event\":\"ENABLED\"", 1, true) then
        redis.call("HSET", queue, "el", math.floor(its_max * at_most / 100))
    end
end

-- Notes an event, where the caller's manager has PERFMEV(ENABLED). It disables itself and enables the others, as IBM
-- says; that is no new version of the definition, because nothing that a put or a get decides depends on it.
local function depth_event(kind, queue, name, owner, depth_now)
    local tag_base = string.match(queue, "^{[^}]*}")
    local said = redis.call("HGET", tag_base .. ":ver", "EVENTS " .. string.match(owner, "^[^.]*"))
    local text = said and string.find(said, "PERFM", 1, true) and redis.call("HGET", queue, "def")
    if text and (kind ~= "max" or string.find(text, "\"depth_max_event\":\"ENABLED\"", 1, true)) then
        for which in string.gmatch("high low max", "%a+") do
            local is_on = which ~= kind and (which ~= "high" or kind ~= "max")
            if is_on or which == kind then
                local word = is_on and "%1\"ENABLED\"" or "%1\"DISABLED\""
                text = string.gsub(text, "(\"depth_" .. which .. "_event\":)\"%u+\"", word)
            end
        end
        local now = redis.call("TIME")[1]
        local before = redis.call("HGET", queue, "et") or now
        redis.call("HSET", queue, "def", text, "et", now)
        arm_events(queue, text)
        redis.call("XADD", tag_base .. ":events", "MAXLEN", "~", 1000, "*",
            "kind", kind, "queue", name, "owner", owner, "depth", depth_now, "since", string.format("%.0f", now - before))
    end
end

local function note_high(armed, queue, available, name, owner)
    local counts = redis.call("HMGET", queue, "pu", "lk", "gm")
    local held = depth(available, counts[1], counts[2], counts[3])
    if held >= tonumber(armed) then depth_event("high", queue, name, owner, held) end
end

local function note_low(armed, queue, available, name, owner)
    local counts = redis.call("HMGET", queue, "pu", "lk", "gm")
    local held = depth(available, counts[1], counts[2], counts[3])
    if held <= tonumber(armed) then depth_event("low", queue, name, owner, held) end
end
