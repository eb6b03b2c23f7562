--[[
admin/match.lua - the subscriptions to a topic string, found level by level in the tree of places.

A caller that names the version in force knows them already. Many come in pages: the caller begins again if the version
is another one at the next page.

KEYS
  1  group    hash  counters
  2  subs     hash  subscription -> JSON
  3  tree     hash  place -> subscriptions at it and below it
  4  at_base  base  sorted sets of the subscriptions at a place
  5  holders  hash  subscription -> the connection that has it open
ARGV
  1  known  version of the subscriptions that the caller knows; "" for none
  2  skip   subscriptions that it has of this version
  3  count  at most so many are returned
  4.. the levels of the topic string
REPLY       { version of the topics, version of the subscriptions, 1 if there are more
              , then for each its JSON and "" or its holder }
REASONS     none
INVARIANTS  4 bounded
COST        O(places on the way + subscriptions found)
]]
local tree = KEYS[3]
local versions = redis.call("HMGET", KEYS[1], "topics", "subscriptions")
local reply = { versions[1] or "0", versions[2] or "0", 0 }
if reply[2] == ARGV[1] then return reply end

-- Adds to `places` those of `wanted` that are in the tree; returns what was added.
local AT_ONCE = 1000
local function add(places, wanted)
    local added = {}
    for first = 1, #wanted, AT_ONCE do
        local there = redis.call("HMGET", tree, unpack(wanted, first, math.min(first + AT_ONCE - 1, #wanted)))
        for at, count in ipairs(there) do
            local place = wanted[first + at - 1]
            if count and not places[place] then
                places[place] = true
                places[#places + 1] = place
                added[#added + 1] = place
            end
        end
    end
    return added
end

-- With a place also its "/#", which stands for no level, too.
local function reach(places, found)
    while #found > 0 do
        local wanted = {}
        for at, place in ipairs(found) do wanted[at] = place .. "/#" end
        found = add(places, wanted)
    end
end

local here, literal, characters = { "" }, "", {}
if redis.call("HEXISTS", tree, "") == 1 then
    reach(here, { "" })
    for level = 4, #ARGV do
        local wanted, after = {}, {}
        for _, place in ipairs(here) do
            wanted[#wanted + 1] = place .. "/=" .. ARGV[level]
            wanted[#wanted + 1] = place .. "/+"
            if string.sub(place, -2) == "/#" then
                after[place] = true
                after[#after + 1] = place
            end
        end
        characters[#characters + 1] = literal .. "/~"
        literal = literal .. "/=" .. ARGV[level]
        reach(after, add(after, wanted))
        here = after
    end
    characters[#characters + 1] = literal .. "/~"
    for _, place in ipairs(characters) do here[#here + 1] = place end
else
    here = {}
end

local skip, room, ids = tonumber(ARGV[2]), tonumber(ARGV[3]), {}
for _, place in ipairs(here) do
    local at, count = KEYS[4] .. place, redis.call("ZCARD", KEYS[4] .. place)
    if count > skip then
        -- One more than there is room for shows whether there are more.
        for _, id in ipairs(redis.call("ZRANGE", at, skip, skip + room - #ids)) do ids[#ids + 1] = id end
    end
    if #ids > room then
        ids[#ids] = nil
        reply[3] = 1
        break
    end
    skip = math.max(0, skip - count)
end
if #ids > 0 then
    local texts, holders = redis.call("HMGET", KEYS[2], unpack(ids)), redis.call("HMGET", KEYS[5], unpack(ids))
    for at = 1, #ids do
        reply[#reply + 1] = texts[at]
        reply[#reply + 1] = holders[at] or ""
    end
end
return reply
