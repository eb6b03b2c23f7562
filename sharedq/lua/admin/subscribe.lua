--[[
admin/subscribe.lua - make a subscription, or change one: from this moment on publications are matched with it.

It stands in the tree of places: each node that has subscriptions at it or below it is in `tree` with their number. So a
publication finds them level by level (admin/match).

KEYS
  1 group, 2 subs, 3 names, 4 tree, 5 at_base, 6 holders, 7 own, 8 fence
ARGV
  1  caller    owner token of the connection that has it open from now on; "" for a command
  2  mode      new | alter
  3  id
  4  name      "" where it has none
  5  expected  version, for alter
  6  place     for new: the path to it
  7  body      the subscription: JSON object without its version
REPLY       { 0, version } | { 1, subscription in force } altered meanwhile | { reason }
REASONS     2009 CONNECTION_BROKEN | 2432 SUB_ALREADY_EXISTS | 2428 NO_SUBSCRIPTION
INVARIANTS  2 fencing (of the caller)
MEMORY      refused when Redis is full
COST        O(levels of the topic string)
USES        recoverer, places
]]
local group, subs, names, tree, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6]
local caller, mode, id, name = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local expected, place, body = ARGV[5], ARGV[6], ARGV[7]
local CHANGED = 1
if caller ~= "" and is_shut_out(KEYS[7], KEYS[8], caller, "") then return { MQRC.CONNECTION_BROKEN } end
local known = redis.call("HGET", subs, id)
if mode == "alter" then
    if not known then return { MQRC.NO_SUBSCRIPTION } end
    if string.format("%d", cjson.decode(known).version) ~= expected then return { CHANGED, known } end
elseif known or name ~= "" and redis.call("HEXISTS", names, name) == 1 then
    return { MQRC.SUB_ALREADY_EXISTS }
end
local version = redis.call("HINCRBY", group, "subscriptions", 1)
redis.call("HSET", subs, id, '{"version":' .. version .. "," .. string.sub(body, 2))
if mode == "new" then
    if name ~= "" then redis.call("HSET", names, name, id) end
    local places = places_on(place)
    redis.call("ZADD", KEYS[5] .. places[#places], version, id)
    count_at(tree, places, 1)
end
if caller ~= "" then redis.call("HSET", holders, id, caller) end
return { 0, version }
