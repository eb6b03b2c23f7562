--[[
admin/decide_together.lua - prepared units of work of one manager, or of the group, are committed by one decision: all of them or none.

A coordinator whose work comes in numbered batches (a series) names the batch: a number that was decided before, or an
earlier one, decides nothing again. So a batch that is repeated after a crash is committed once, even if another process
repeats it; and a unit of work that comes too late for its batch is not even prepared (admin/prepare).

Of units of work that have to be read before they are committed (see admin/note_read) one at least must have been.

As in admin/decide_prepared, who decides is noted, and its recovery has every structure apply that.

KEYS
  1 fence, 2 prepared, 3 completed
  4  series     string  number of the latest batch that was decided
  5 own
ARGV
  1  caller
  2  qmgr         of the caller
  3 incarnation, 4 process
  5  batch        its number, from 0; "" the units of work belong to no series
  6  kept         seconds for which the number is remembered; 0 for ever
  7.. fields of prepared: manager or group, blank, external id
REPLY       { 0, { field and JSON of each that has still to be completed }, lost } | { 1, field, "B", or "" where it is unknown }
            that one cannot be committed, so nothing is decided | { 2, as with 0, lost } the batch was decided before
            | { 3, field } of none of them anybody has read what it got, and that one has to be read | { reason }
            lost: the fields of those that were committed before, but for what structures had lost
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 nothing lost, 2 fencing, 3 one decision, 8 once
COST        O(units of work), two or three microseconds each; the caller names 1000 at most
USES        membership, ended
]]
local prepared, series, batch, kept = KEYS[2], KEYS[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local CANNOT, DONE, UNREAD, TOGETHER = 1, 2, 3, 500
if not is_registered(KEYS[5], KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local latest = batch and redis.call("GET", series)
local is_done = latest and tonumber(latest) >= batch
-- Not encoded anew: there are many of them. A token is letters, digits and marks that JSON leaves as they are.
local head = '{"outcome":"C","by":"' .. ARGV[1] .. '",'
-- First a look at all of them, then a change of all of them.
local found, lost, changed = {}, {}, {}
local unread, is_read, told_again
for position = 7, #ARGV do
    local field = ARGV[position]
    local text = redis.call("HGET", prepared, field)
    -- Within a string there is a backslash before the quote.
    local outcome = text and (string.find(text, '"outcome":', 1, true) and cjson.decode(text).outcome or "P")
    if outcome == "B" and not is_done then return { CANNOT, field, "B" } end
    if outcome and not is_done then
        if outcome == "C" then
            local unit = cjson.decode(text)
            unit.by = ARGV[1]
            text = cjson.encode(unit)
        else
            local times = string.match(text, '"read":(%d+)')
            if times == "0" then unread = field elseif times then is_read = true end
            text = head .. string.sub(text, 2)
        end
        changed[#changed + 1], changed[#changed + 2] = field, text
    end
    if outcome == "C" or (outcome and not is_done) then
        found[#found + 1], found[#found + 2] = field, text
    elseif not outcome then
        local ended = how_ended(KEYS[3], field)
        if ended == "M" or ended == "R" then
            lost[#lost + 1] = field
        elseif ended ~= "C" and not is_done then
            return { CANNOT, field, ended or "" }
        end
        told_again = ended and { field, ended } or told_again
    end
end
if unread and not is_read then return { UNREAD, unread } end
for first = 1, #changed, TOGETHER do
    redis.call("HSET", prepared, unpack(changed, first, math.min(first + TOGETHER - 1, #changed)))
end
if is_done then
    -- As prelude/ended says of who is told again.
    redis.call("SET", series, latest, "KEEPTTL")
    return { DONE, found, lost }
end
if told_again and not batch and #changed == 0 then note_again(KEYS[3], told_again[1], told_again[2]) end
if batch then
    redis.call("SET", series, batch)
    if kept > 0 then redis.call("EXPIRE", series, kept) end
end
return { 0, found, lost }
