--[[
admin/end_subscription.lua - a subscription is closed, or it ends: nothing is published to it any more.

The managed queue of a subscription that ends is noted in the same moment. It is deleted afterwards, by the caller or by a
manager's sweep, so a crash in between loses track of nothing.

KEYS
  1 group, 2 subs, 3 names, 4 tree, 5 at_base, 6 holders, 7 orphans, 8 own, 9 fence, 10 delivered
ARGV
  1  caller  owner token of the caller: the holder, or its recoverer; "" for a command
  2  id
  3  mode    close: nobody has it open | remove: it ends
  4  holder  the connection that may have it open
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN | 2428 NO_SUBSCRIPTION | 2429 SUBSCRIPTION_IN_USE
INVARIANTS  2 fencing (of the caller)
COST        O(levels of the topic string)
USES        recoverer, places
]]
local group, subs, names, tree, holders, orphans = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6], KEYS[7]
local caller, id, mode, holder = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if caller ~= "" and is_shut_out(KEYS[8], KEYS[9], caller, "") then return { MQRC.CONNECTION_BROKEN } end
local text, its_holder = redis.call("HGET", subs, id), redis.call("HGET", holders, id)
if not text then return { MQRC.NO_SUBSCRIPTION } end
if its_holder and its_holder ~= holder then return { MQRC.SUBSCRIPTION_IN_USE } end
local known = cjson.decode(text)
redis.call("HDEL", holders, id)
if mode == "close" then return { 0 } end

redis.call("HINCRBY", group, "subscriptions", 1)
redis.call("HDEL", subs, id)
redis.call("HDEL", KEYS[10], id)
if known.name ~= "" then redis.call("HDEL", names, known.name) end
local places = places_on(known.place)
redis.call("ZREM", KEYS[5] .. places[#places], id)
count_at(tree, places, -1)
if known.destination_class == "MANAGED" then redis.call("HSET", orphans, known.destination, known.made_at) end
return { 0 }
