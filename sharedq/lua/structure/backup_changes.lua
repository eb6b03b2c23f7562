--[[
structure/backup_changes.lua - what has happened in a structure since a place in its journal, for a backup; and how those
messages and units of work stand at this moment which the backup asks about. Reads only.

Where that goes up to the journal's end, messages and units of work that the entries are about are looked at too: so a
backup of a structure that is never at rest comes to its end.

KEYS
  1 journal, 2 messages, 3 sequence, 4 trash, 5 unit_base, 6 available_base, 7 members_base, 8 locks_base,
  9 expiry
ARGV
  1  last    id of the last journal entry that the caller knows
  2  count   entries to return, at most
  3  bytes   of records, after which no more messages are looked up
  4  ids     messages to look up, at most
  5  queues  how many
  6  units   how many
  7.. for each queue: its name, and ids with blanks between them; for each unit of work that is open: owner, id, how many
      of its operations the caller knows, 1 where it is to be looked at, what it put, what it got (queue, newline, ids,
      newline)
REPLY       { 0, entries, 1 where they go up to the end, { id, queue, score or "", record or "" of each message },
            { id, state or "", operations of each unit of work }, counter, sets in the trash }
            | { 1 } the journal was trimmed after `last`
            A record is "" where the message is gone or not persistent, a score where it is neither available nor locked
            nor waits to be reported.
REASONS     none
INVARIANTS  4 bounded
COST        O(count + ids * log depth + operations + handles with locks), and `bytes` and one message
USES        record
]]
local journal, messages = KEYS[1], KEYS[2]
local last, count, bytes_max, ids_max = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local TRIMMED, OPERATIONS_MAX = 1, 50

if last ~= "0-0" and #redis.call("XRANGE", journal, last, last, "COUNT", 1) == 0 then return { TRIMMED } end
local entries = redis.call("XRANGE", journal, "(" .. last, "+", "COUNT", count)
local is_end = #entries < count

local looked, bytes, found, seen, locked = 0, 0, {}, {}, {}
local function locked_on(queue)
    if not locked[queue] then
        locked[queue] = {}
        for _, text in ipairs(redis.call("HVALS", KEYS[8] .. queue)) do
            for id, score in string.gmatch(text, "(%S+):(%d+)") do locked[queue][id] = score end
        end
    end
    return locked[queue]
end

local function look_up(queue, ids_text)
    for id in string.gmatch(ids_text, "%S+") do
        if bytes >= bytes_max or looked >= ids_max then return end
        -- One that moved in between is looked up on both queues.
        if not seen[queue .. " " .. id] then
            seen[queue .. " " .. id], looked = true, looked + 1
            local score = redis.call("ZSCORE", KEYS[6] .. queue, id) or redis.call("ZSCORE", KEYS[7] .. queue, id)
            if not score then
                local noted = tonumber(redis.call("ZSCORE", KEYS[9], queue .. " " .. id) or 0)
                score = noted < 0 and noted - CONST.WAITS_TO_BE_TOLD
            end
            score = score and string.format("%.0f", score) or locked_on(queue)[id] or ""
            local record = redis.call("HGET", messages, id) or ""
            bytes = bytes + #record
            if record ~= "" and not has(record, PERSISTENT) then record = "" end
            local at = #found
            found[at + 1], found[at + 2], found[at + 3], found[at + 4] = id, queue, score, record
        end
    end
end

local at = 7
for _ = 1, tonumber(ARGV[5]) do
    look_up(ARGV[at], ARGV[at + 1])
    at = at + 2
end
local units, order = {}, {}
for number = 1, tonumber(ARGV[6]) do
    local unit = { id = ARGV[at + 1], owner = ARGV[at], known = tonumber(ARGV[at + 2]), is_wanted = ARGV[at + 3] == "1" }
    unit.put, unit.get = ARGV[at + 4], ARGV[at + 5]
    units[unit.id], order[number], at = unit, unit, at + 6
end

if is_end then
    for _, entry in ipairs(entries) do
        local fields = {}
        for position = 1, #entry[2], 2 do fields[entry[2][position]] = entry[2][position + 1] end
        local event, queue, ids, unit = fields.e, fields.q, fields.i, units[fields.u]
        -- To be reported it is taken as by a get.
        if event == "expire" and fields.u then event = "get" end
        if fields.u and fields.u ~= "" and not unit and (event == "put" or event == "get") then
            unit = { id = fields.u, owner = fields.o, known = 0, put = "", get = "" }
            units[unit.id], order[#order + 1] = unit, unit
        end
        if event == "return" or (event == "put" and not unit) then
            look_up(queue, ids)
        elseif event == "transfer" then
            look_up(fields.t, ids)
        elseif unit and (event == "put" or event == "get") then
            unit[event] = unit[event] .. queue .. "\n" .. ids .. "\n"
            -- The unit of work has these messages, but a restore has to learn where they stood on the queue.
            if event == "get" then look_up(queue, ids) end
            unit.is_wanted = true
        elseif unit and event ~= "undo" then
            for on, of in string.gmatch(event == "commit" and unit.put or unit.get, "([^\n]*)\n([^\n]*)\n") do
                look_up(on, of)
            end
            unit.is_wanted = true
        end
    end
end

local standing = {}
for _, unit in ipairs(order) do
    if unit.is_wanted then
        local here = { unit.id, "" }
        for _, name in ipairs({ unit.owner, unit.id }) do
            local state = redis.call("LRANGE", KEYS[5] .. name, 0, 0)[1]
            if state and string.sub(state, 2) == unit.id then
                local operations = redis.call("LRANGE", KEYS[5] .. name, 1 + unit.known, unit.known + OPERATIONS_MAX)
                here = { unit.id, string.sub(state, 1, 1), unpack(operations) }
            end
        end
        standing[#standing + 1] = here
    end
end
return {
    0, entries, is_end and 1 or 0, found, standing, redis.call("GET", KEYS[3]) or "0", redis.call("HLEN", KEYS[4]),
}
