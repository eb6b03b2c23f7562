--[[
Names of places in the tree that subscriptions stand in.

The name of a place is the path to it (sharedq/logical/topic_strings). A long path is named by its SHA-1, so that a place
costs the same at any depth. The end of a name always tells whether the last step is "/#".
]]
local PLACE_BYTES = 100

-- The step to a level: a long one is named by its SHA-1, too.
local function step_of(text)
    return #text <= PLACE_BYTES and text or "/:" .. redis.sha1hex(text)
end

-- The name of the place that `step` leads to.
local function place_below(place, step)
    local path = place .. step
    if #path <= PLACE_BYTES then return path end
    return "/!" .. redis.sha1hex(path) .. (step == "/#" and step or "")
end

-- The names of the places on a path, the root first.
local function places_on(path)
    local places = { "" }
    for step in string.gmatch(path, "/[^/]*") do
        places[#places + 1] = place_below(places[#places], step_of(step))
    end
    return places
end

-- Counts one subscription more (1) or fewer (-1) at and below each of these places.
local function count_at(tree, places, change)
    local AT_ONCE = 1000
    for first = 1, #places, AT_ONCE do
        local last = math.min(first + AT_ONCE - 1, #places)
        local counts, kept, emptied = redis.call("HMGET", tree, unpack(places, first, last)), {}, {}
        for at = first, last do
            local count = (counts[at - first + 1] or 0) + change
            if count > 0 then
                kept[#kept + 1] = places[at]
                kept[#kept + 1] = count
            else
                emptied[#emptied + 1] = places[at]
            end
        end
        if #kept > 0 then redis.call("HSET", tree, unpack(kept)) end
        if #emptied > 0 then redis.call("HDEL", tree, unpack(emptied)) end
    end
end
