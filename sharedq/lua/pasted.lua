--[[
The loader pastes these into scripts, where a function would cost each call a little: `CONST.NAME` becomes the text of a
constant, `INLINE.name(arguments)` the text of a function with the arguments in place of its parameters, on one line.
A function that returns something is an expression, and has its own brackets; any other is a block of statements, which
may set a parameter. Each may use those above it. See sharedq/redis/pasted_text.py.
]]
-- No record of a queue is longer unless the queue says so (`lg`, see docs/reference/key-space.md): bytes.
local LONG = 10240
-- MAXDEPTH as an argument: no limit.
local NO_DEPTH_LIMIT = "999999999"
-- The queue of retained publications: at most one that is committed for each CorrelId (structure/commit).
local RETAINED = "SYSTEM.RETAINED.PUB.QUEUE"
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

-- Waiting gets. An entry of `w` is a selection, and then the token of a connection that looks itself when it is woken; or
-- "!" and the token of one that is handed its message, outside a unit of work; or "+" and the unit of work in which it is
-- handed that, which begins with the token.
local function register(waiters, queue, own, owner, name, entry)
    redis.call("ZADD", waiters, 0, entry)
    redis.call("HINCRBY", queue, "nw", 1)
    redis.call("HSET", own, owner, "W" .. name .. "\n" .. entry)
end

-- The caller of a get waits for its wake-up in the same write. Where the get has not begun to wait, a word ends this wait. A
-- connection that is not registered gets none, because nobody would remove the word.
local function end_block(wake_key, reply)
    if reply[1] ~= MQRC.NO_MSG_AVAILABLE and reply[1] ~= MQRC.CONNECTION_BROKEN then redis.call("RPUSH", wake_key, ".") end
end

-- The token in what follows a selection, which is handed its message if that begins so.
local function is_to_be_handed(after)
    return (string.byte(after) == 33 or string.byte(after) == 43)
end

local function token_in(after)
    return (string.byte(after) == 33 and string.sub(after, 2) or string.match(after, "^%+(.*)/") or after)
end

-- A message becomes what a connection that waits got in its unit of work. The bases of keys differ in their last part.
local function got_in_unit(wake_base, queue, token, unit_id, name, id, score)
    local unit = string.sub(wake_base, 1, -6) .. "u:" .. token
    local operation = "G1\n" .. name .. "\n" .. id .. "\n" .. score
    if redis.call("EXISTS", unit) == 1 then
        redis.call("RPUSH", unit, operation)
    else
        redis.call("RPUSH", unit, "A" .. unit_id, operation)
    end
    redis.call("HINCRBY", queue, "gu", 1)
end

-- Hands a message that is on no queue to the get of any message that waits there (`after`: its entry after the selection).
-- In a unit of work its record stands with the others: a wake entry without a blank in front of the record was got so.
-- `messages` has the record, which goes outside a unit of work; nil where it is not stored. `chosen` is what the journal
-- says besides: { "c", "1" } for a get that waits for certain messages.
local function hand(own, wake_base, queue, name, after, id, score, record, messages, stream, limit, chosen)
    local unit_id = string.byte(after) == 43 and string.sub(after, 2)
    local token = token_in(after)
    redis.call("HINCRBY", queue, "nw", -1)
    redis.call("HSET", own, token, "H" .. name)
    if unit_id then got_in_unit(wake_base, queue, token, unit_id, name, id, score) end
    redis.call("LPUSH", wake_base .. token, id .. (unit_id and "" or " " .. score) .. "\n" .. record)
    if messages and not unit_id then redis.call("HDEL", messages, id) end
    journal(stream, limit, "e", "get", "o", token, "q", name, "u", unit_id or "", "i", id, unpack(chosen))
end

-- Wakes a get that is off the waiters, and looks itself.
local function wake_lone(own, wake_base, queue, name, token)
    redis.call("HINCRBY", queue, "nw", -1)
    redis.call("HSET", own, token, "K" .. name)
    redis.call("RPUSH", wake_base .. token, "1")
end

-- Whether a message that comes is the first for a get of any message, which need not look at anything else: nothing is on
-- the queue, and the queue has neither of `gm`, `mk`, `al`.
local function is_first(available, members, marked, altered)
    return ((members or "0") == "0" and not (marked or altered) and redis.call("ZCARD", available) == 0)
end

-- Takes the only get that waits on a queue off the waiters, if it waits to be handed any message and the one that comes is
-- the first. Sets `after` to what follows its selection.
local function take_lone_waiter(available, waiters, members, marked, altered, after)
    if is_first(available, members, marked, altered) then
        local waiter = redis.call("ZPOPMIN", waiters)[1]
        after = waiter and string.byte(waiter) == 65 and string.sub(waiter, 2)
        after = after and is_to_be_handed(after) and after
        if waiter and not after then redis.call("ZADD", waiters, 0, waiter) end
    end
end

-- Takes the get that waits for the CorrelId of a message off the waiters, and sets `after` to what follows its selection. Does
-- nothing if that get has to look itself, or if another message comes before this one. Browses that wait are not woken,
-- because nothing comes that they could see.
local function take_waiter_by_correl(queue, index, waiters, record, after)
    -- The message has a CorrelId, no MsgId of the program's own, no expiry, no group and no report option.
    if bit.band(string.byte(record), 62) == 4 and #record <= LONG then
        local from = "C" .. string.sub(record, 6, 29)
        local to = "(" .. from .. "\255"
        local waiter = redis.call("ZRANGEBYLEX", waiters, "[" .. from, to, "LIMIT", 0, 1)[1]
        local there = waiter and redis.call("HMGET", queue, "gm", "mk", "lg", "al")
        if there and is_to_be_handed(string.sub(waiter, 26)) and (there[1] or "0") == "0"
            and not (there[2] or there[3] or there[4])
            and not redis.call("ZRANGEBYLEX", index, "[" .. from, to, "LIMIT", 0, 1)[1] then
            redis.call("ZREM", waiters, waiter)
            after = string.sub(waiter, 26)
        end
    end
end

-- Appends the index entries of a message that has no more than identifiers to a list. The flags are those of prelude/record:
-- 4, a CorrelId; 8, a MsgId of the program's own. An entry ends with the place, and the id unless that is the usual one.
local function identifiers(into, id, score, record)
    local flags, order = string.byte(record), struct.pack(">I7", score)
    local tail = id == string.format("%.0fx", score % PRIORITY_STEP) and order or order .. id
    local correl = bit.band(flags, 4) ~= 0 and string.sub(record, 6, 29)
    local msgid = bit.band(flags, 8) ~= 0 and string.sub(record, correl and 30 or 6, correl and 53 or 29)
    if correl then into[#into + 1] = "C" .. correl .. tail end
    if msgid then into[#into + 1] = "M" .. msgid .. tail end
    if correl and msgid then into[#into + 1] = "X" .. msgid .. correl .. tail end
end

local function index_entries(index, entries)
    local indexed = {}
    for place, each in ipairs(entries) do indexed[2 * place - 1], indexed[2 * place] = 0, each end
    if indexed[1] then redis.call("ZADD", index, unpack(indexed)) end
end

-- Puts messages with no more than identifiers where gets can find them; `added` lists score, id, score, id.
local function make_simple_available(available, index, added, records)
    redis.call("ZADD", available, unpack(added))
    local entries = {}
    for position, its_record in ipairs(records) do
        identifiers(entries, added[2 * position], added[2 * position - 1], its_record)
    end
    index_entries(index, entries)
end

-- Sets `id` and `score` (as text) to those of the first message that the index has under a prefix, after a score.
local function find_by_index(index, prefix, least, id, score)
    local from = least > 0 and "(" .. prefix .. struct.pack(">I7", least) .. "\255" or "[" .. prefix
    local found = redis.call("ZRANGEBYLEX", index, from, "(" .. prefix .. "\255", "LIMIT", 0, 1)[1]
    if found then
        score, id = string.format("%.0f", struct.unpack(">I7", found, #prefix + 1)), string.sub(found, #prefix + 8)
        if id == "" then id = string.format("%.0fx", score % PRIORITY_STEP) end
    end
end

-- Lists the messages of a put in a unit of work as ZADD takes them: score, id, score, id. One score stands for a run.
local function list_added(added, ids_text, scores_text)
    local place, score = 1, tonumber(scores_text)
    for id in string.gmatch(ids_text, "[^ ]+") do
        added[place], added[place + 1] = score, id
        place, score = place + 2, score and score + 1
    end
    if not score then
        place = 1
        for each in string.gmatch(scores_text, "[^ ]+") do
            added[place], place = tonumber(each), place + 2
        end
    end
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

-- Counts and performance events of a queue (docs/how-to/events.md). While some manager has PERFMEV(ENABLED), the structure's
-- `ver` has PERFM, and the hash of each queue has `ev`: the depth from which a put is told of, that down to which a get is,
-- the service interval in ms and its event, "-" for what is not enabled. A queue with TRIGGER and INITQ has `ev` too, and at
-- its end the first letter of TRIGTYPE, TRIGMPRI and TRIGDPTH.
local function arm_events(queue, text)
    local triggers = ""
    if string.find(text, "\"trigger_control\":\"TRIGGER\"", 1, true)
        and not string.find(text, "\"initiation_q_name\":\"\"", 1, true) then
        local letter = string.match(text, "\"trigger_type\":\"(%u)")
        if letter ~= "N" then
            triggers = string.format(" %s %s %s", letter, string.match(text, "\"trigger_msg_priority\":(%d)"),
                string.match(text, "\"trigger_depth\":(%d+)"))
            redis.call("HSETNX", string.match(queue, "^{[^}]*}") .. ":ver", "TRIGGER", "")
        end
    end
    if redis.call("HEXISTS", string.match(queue, "^{[^}]*}") .. ":ver", "PERFM") == 1 then
        local its_max, high, low = string.match(text, "\"max_depth\":(%d+)"), "-", "-"
        local interval = string.match(text, "\"service_interval_ms\":(%d+)")
        if string.find(text, "\"depth_high_event\":\"ENABLED\"", 1, true) then
            high = math.ceil(its_max * string.match(text, "\"depth_high_limit\":(%d+)") / 100)
        end
        if string.find(text, "\"depth_low_event\":\"ENABLED\"", 1, true) then
            low = math.floor(its_max * string.match(text, "\"depth_low_limit\":(%d+)") / 100)
        end
        local told = string.match(text, "\"service_interval_event\":\"(%u+)\"")
        if told == "NONE" then redis.call("HDEL", queue, "st") end
        told = interval .. " " .. (told == "NONE" and "-" or told)
        redis.call("HSET", queue, "ev", string.format("%s %s ", high, low) .. told .. triggers)
        redis.call("HSETNX", queue, "et", redis.call("TIME")[1])
    else
        redis.call("HDEL", queue, "ev", "et", "st", "qi", "qo", "qh")
        if triggers ~= "" then redis.call("HSET", queue, "ev", "- - 0 -" .. triggers) end
    end
end

-- The things that a manager has to look at for trigger messages stand in a hash until they are done (igq/triggers/marks.py): a letter, a
-- blank and a name, and how often it came. Nothing is dropped there. The stream only rings: its one entry ends a wait.
local function owe_trigger(queue, what, count)
    local tag = string.match(queue, "^{[^}]*}")
    local owed, triggers = tag .. ":owed", tag .. ":triggers"
    if redis.call("HINCRBY", owed, what, count) == count then redis.call("XADD", triggers, "MAXLEN", 1, "*", "", "") end
end

-- A mark that stood `count` times is done; of an alteration, `count` is its time. `is_there` is set to false if another
-- alteration has come since, or has taken the mark away.
local function settle(owed, field, count, is_there)
    if string.sub(field, 1, 1) == "A" then
        is_there = redis.call("HGET", owed, field) == count
        if is_there then redis.call("HDEL", owed, field) end
    else
        local left = redis.call("HINCRBY", owed, field, -count)
        if left <= 0 then redis.call("HDEL", owed, field) end
        is_there = left >= 0
    end
end

-- Something else than a put may have made the conditions of TRIGTYPE(FIRST) and (DEPTH) hold: a manager looks.
local function note_look(queue)
    if string.find(redis.call("HGET", queue, "ev") or "", " [FD] %d %d+$") then
        owe_trigger(queue, "L " .. string.match(queue, "}:q:(.*)$"), 1)
    end
end

-- The same after an ALTER or MQSET. A look that was due for the former conditions is due no more: it could come between the
-- MQSET and the MQOPEN of a program that a trigger message has started. The time tells one alteration from the next.
local function note_altered(queue)
    if string.find(redis.call("HGET", queue, "ev") or "", " [FD] %d %d+$") then
        local tag, name, now = string.match(queue, "^{[^}]*}"), string.match(queue, "}:q:(.*)$"), redis.call("TIME")
        local owed, triggers = tag .. ":owed", tag .. ":triggers"
        redis.call("HDEL", owed, "L " .. name)
        redis.call("HSET", owed, "A " .. name, string.format("%.0f", now[1] * 1000000 + now[2]))
        redis.call("XADD", triggers, "MAXLEN", 1, "*", "", "")
    end
end

-- Notes what a trigger message is to be written for: `added` lists score, id of messages that have just come, and may be
-- handed over. A queue that is open for input is not triggered; a shared one is, when the first message comes, at the managers
-- where it is not open. `tt` is the time of the latest trigger message of FIRST that still counts: an open for input, a message
-- on the empty queue and TRIGINT end it, and without it every look finds what is to be triggered (structure/claim_trigger).
local function note_trigger(armed, queue, available, name, owner, added)
    local letter, least, wanted = string.match(armed, " (%u) (%d) (%d+)$")
    if letter then
        local below, came = (10 - least) * PRIORITY_STEP, 0
        for position = 1, #added, 2 do
            if tonumber(added[position]) < below then came = came + 1 end
        end
        local kind = letter == "E" and came > 0 and "E "
        local known = redis.call("HMGET", queue, "gm", "ip", "tt")
        local is_open = letter ~= "E" and tonumber(known[2] or 0) > 0
        if is_open and not string.find(queue, "^{[^:]*:@") then
            local held = redis.call("ZCARD", available) + (known[1] or 0)
            kind = held > 0 and held <= #added / 2 and "N "
        elseif letter ~= "E" and not is_open and came > 0 then
            local held = redis.call("ZCOUNT", available, "-inf", string.format("(%.0f", below)) + (known[1] or 0)
            local is_due = held >= tonumber(letter == "D" and wanted or 1)
            if is_due and known[3] and held > came then
                local now = redis.call("TIME")
                now = now[1] * 1000 + math.floor(now[2] / 1000)
                local said = redis.call("HGET", string.match(queue, "^{[^}]*}") .. ":ver", "EVENTS " .. string.match(owner, "^[^.]+"))
                local interval = string.match(said or "", "TRIGINT=(%d+)")
                is_due = interval and now - known[3] >= tonumber(interval)
            end
            if is_due and known[3] then redis.call("HDEL", queue, "tt") end
            kind = is_due and "L "
        end
        if kind then owe_trigger(queue, kind .. name, letter == "E" and came or 1) end
    end
end

-- Whether the manager of a connection has PERFMEV(ENABLED).
local function wants_performance(queue, owner)
    return string.find(redis.call("HGET", string.match(queue, "^{[^}]*}") .. ":ver",
        "EVENTS " .. string.match(owner, "^[^.]+")) or "", "PERFM", 1, true)
end

-- An event disables itself and enables its opposite, as IBM says; that is no new version of the definition, because
-- nothing that a put or a get decides depends on it. The counts begin anew.
local function performance_event(kind, queue, name, owner, depth_now)
    local text = redis.call("HGET", queue, "def")
    if kind ~= "max" or string.find(text, "\"depth_max_event\":\"ENABLED\"", 1, true) then
        if kind == "late" or kind == "prompt" then
            local word = kind == "late" and "%1\"OK\"" or "%1\"HIGH\""
            text = string.gsub(text, "(\"service_interval_event\":)\"%u+\"", word)
        else
            for which in string.gmatch("high low max", "%a+") do
                local is_on = which ~= kind and (which ~= "high" or kind ~= "max")
                if is_on or which == kind then
                    local word = is_on and "%1\"ENABLED\"" or "%1\"DISABLED\""
                    text = string.gsub(text, "(\"depth_" .. which .. "_event\":)\"%u+\"", word)
                end
            end
        end
        local now, counted = redis.call("TIME")[1], redis.call("HMGET", queue, "et", "qh", "qi", "qo")
        redis.call("HSET", queue, "def", text, "et", now, "qh", depth_now, "qi", 0, "qo", 0)
        arm_events(queue, text)
        redis.call("XADD", string.match(queue, "^{[^}]*}") .. ":events", "MAXLEN", "~", 1000, "*",
            "kind", kind, "queue", name, "owner", owner, "depth", counted[2] or depth_now,
            "since", string.format("%.0f", now - (counted[1] or now)), "in", counted[3] or 0, "out", counted[4] or 0)
    end
end

local function note_full(queue, name, owner, depth_max)
    if wants_performance(queue, owner) then performance_event("max", queue, name, owner, depth_max) end
end

-- A queue with `ev` has changed: so many messages came and went, by a put or a get (`is_call`), or by anything else, which is not
-- counted. Notes the events that this causes. The service timer `st` runs while messages are there, from the latest get or
-- what found the queue empty; only calls are late or in time.
local function note(armed, queue, available, name, owner, came, went, is_call)
    if wants_performance(queue, owner) then
        local counts = redis.call("HMGET", queue, "pu", "lk", "gm", "qh", "st")
        local held = depth(available, counts[1], counts[2], counts[3])
        local high, low, interval, told = string.match(armed, "^(%S+) (%S+) (%S+) (%S+)")
        if is_call and came > 0 then redis.call("HINCRBY", queue, "qi", came) end
        if is_call and went > 0 then redis.call("HINCRBY", queue, "qo", went) end
        local peak = came > 0 and held + went or held
        if peak > tonumber(counts[4] or 0) then redis.call("HSET", queue, "qh", peak) end
        local caused = {}
        if told ~= "-" then
            local now = redis.call("TIME")
            now = now[1] * 1000 + math.floor(now[2] / 1000)
            local was_empty = came > 0 and held + went == came
            local passed = was_empty and went > 0 and 0 or not was_empty and counts[5] and now - counts[5]
            if held == 0 then
                redis.call("HDEL", queue, "st")
            elseif (is_call and went > 0) or was_empty or not counts[5] then
                redis.call("HSET", queue, "st", string.format("%.0f", now))
            end
            passed = is_call and passed
            if passed and told == "HIGH" and passed > tonumber(interval) then
                caused[1] = "late"
            elseif passed and told == "OK" and went > 0 and passed <= tonumber(interval) then
                caused[1] = "prompt"
            end
        end
        if high ~= "-" and came > went and held >= tonumber(high) then
            caused[#caused + 1] = "high"
        elseif low ~= "-" and went > came and held <= tonumber(low) then
            caused[#caused + 1] = "low"
        end
        for _, event in ipairs(caused) do performance_event(event, queue, name, owner, held) end
    end
end

-- Each script in which something else than a put or a get changes how many messages a queue has ends with this: so many came
-- back, or went. All that depends on the depth is looked at. `owner` is the connection whose work that is.
local function note_change(queue, available, name, owner, came, went)
    local armed = redis.call("HGET", queue, "ev")
    if armed then
        note(armed, queue, available, name, owner, came, went, false)
        if came > 0 then note_look(queue) end
    end
end
