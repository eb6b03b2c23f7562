--[[
admin/match.lua - the subscriptions to a topic string, found level by level in the tree of places.

A caller that names the version in force knows them already. A long walk takes several calls, and so do many subscriptions:
the caller gives back what the last call came to, and begins again if the version is another one.

A place is passed over once another one that its subscriptions are all below is reached: "#" above and "#" below stand for
the same levels from there on.

KEYS
  1 group, 2 subs, 3 tree, 4 at_base, 5 holders
ARGV
  1  known    version of the subscriptions that the caller knows; "" for none
  2  count    subscriptions are returned, at most
  3  is_last  1 there are no more levels: when they are gone, the subscriptions at the places are read; else 0
  4  skip     subscriptions at the first place that the caller has
  5  levels   of the topic string are given
  6  reached  places that the walk goes on from are given
  7.. the levels; then for each place that was reached ("": the walk begins) its name, and the nearest one above it that is
      "/#", or ""; then places whose subscriptions are to be read
REPLY       { version of the topics, version of the subscriptions, levels gone, { what was reached, as in ARGV }
              , { places to be read }, the first of these that is not read, 0 for none, subscriptions at it that are read
              , then for each subscription its JSON and "" or its holder }
REASONS     none
INVARIANTS  4 bounded
COST        O(places on the way + subscriptions found), in one call at most so many
USES        places
]]
-- A call goes on with another level up to so many places in all, and up to so many at once. It reads so many bytes.
local WORK_MAX, PLACES_MAX, BYTES_MAX = 1000, 250, 1000000
local tree = KEYS[3]
local versions = redis.call("HMGET", KEYS[1], "topics", "subscriptions")
local reply = { versions[1] or "0", versions[2] or "0", 0, {}, {}, 0, 0 }
if reply[2] == ARGV[1] then return reply end

local is_last, last_level = ARGV[3] == "1", 6 + tonumber(ARGV[5])
local last_reached = last_level + 2 * tonumber(ARGV[6])
-- `under`: for a place the nearest one above it that ends with "/#". `passed`: places without subscriptions of their own.
local here, under, passed, found = {}, {}, {}, reply[5]

local function is_any(place)
    return string.sub(place, -2) == "/#"
end

local AT_ONCE = 1000
-- Calls `take` with those of `wanted` that are in the tree, each with the place that it was looked for from.
local function look(wanted, from, take)
    for first = 1, #wanted, AT_ONCE do
        local last = math.min(first + AT_ONCE - 1, #wanted)
        local counts = redis.call("HMGET", tree, unpack(wanted, first, last))
        for at = first, last do
            local count = counts[at - first + 1]
            if count then take(wanted[at], from[at], count) end
        end
    end
end

-- Adds to `places` what was reached, once.
local function add(places, place, from)
    if places[place] then return end
    places[place] = true
    places[#places + 1] = place
    under[place] = under[place] or is_any(from) and from or under[from]
end

-- Adds to `places` what no further level leads to: "/#" below them; and to `found` what takes any text.
local function close(places)
    local wanted, from = {}, {}
    for _, place in ipairs(places) do
        if not is_any(place) then
            wanted[#wanted + 1], from[#from + 1] = place_below(place, "/#"), place
            wanted[#wanted + 1], from[#from + 1] = place_below(place, "/~"), place
        end
    end
    look(wanted, from, function(place, parent, count)
        if not is_any(place) then
            found[#found + 1] = place
            return
        end
        add(places, place, parent)
        local above = under[place]
        if above ~= "" and redis.call("HGET", tree, above) == count then passed[above] = true end
    end)
end

for at = last_level + 1, last_reached, 2 do
    here[#here + 1] = ARGV[at]
    under[ARGV[at]] = ARGV[at + 1]
end
if here[1] == "" then
    if redis.call("HEXISTS", tree, "") == 1 then close(here) else here = {} end
end
for at = last_reached + 1, #ARGV do found[#found + 1] = ARGV[at] end

local level, work = 6, 0
while level < last_level and #here > 0 and work < WORK_MAX and (#here <= PLACES_MAX or work == 0) do
    level, work = level + 1, work + #here
    local step, wanted, from, after = step_of("/=" .. ARGV[level]), {}, {}, {}
    for _, place in ipairs(here) do
        if not passed[place] then
            wanted[#wanted + 1], from[#from + 1] = place_below(place, step), place
            wanted[#wanted + 1], from[#from + 1] = place_below(place, "/+"), place
            if is_any(place) then add(after, place, place) end
        end
    end
    look(wanted, from, function(place, parent) add(after, place, parent) end)
    close(after)
    here = after
end
reply[3] = #here > 0 and level - 6 or last_level - 6
local is_end = level == last_level or #here == 0
for _, place in ipairs(here) do
    if not passed[place] then
        if is_last and is_end then
            found[#found + 1] = place
        else
            table.insert(reply[4], place)
            table.insert(reply[4], under[place])
        end
    end
end
if not (is_last and is_end) then return reply end

local skip, room, bytes = tonumber(ARGV[4]), tonumber(ARGV[2]), 0
for position, place in ipairs(found) do
    local ids = redis.call("ZRANGE", KEYS[4] .. place, skip, skip + room)
    for at, id in ipairs(ids) do
        if room == 0 or bytes > BYTES_MAX then
            reply[6], reply[7] = position, skip + at - 1
            return reply
        end
        local text = redis.call("HGET", KEYS[2], id)
        reply[#reply + 1] = text
        reply[#reply + 1] = redis.call("HGET", KEYS[5], id) or ""
        room, bytes = room - 1, bytes + #text
    end
    skip = 0
end
return reply
