--[[
admin/disconnect.lua - MQDISC: the connection has ended its work; give back its tag.

Units of work that it has prepared, and that nobody has ended yet, go on using the tag.

KEYS
  1 own, 2 tags
ARGV
  1  owner
  2  tag    "" or what was asked for (a letter) and tag
REPLY       { 0 } | { reason }
REASONS     2344 CONN_TAG_NOT_RELEASED (a warning)
INVARIANTS  6 sequence under failure
COST        O(users of the tag)
USES        tags
]]
local tags, owner, tag = KEYS[2], ARGV[1], string.sub(ARGV[2], 2)
redis.call("HDEL", KEYS[1], owner)
if tag ~= "" then
    local users = users_without(redis.call("HGET", tags, tag), function(user) return user == owner end)
    set_users(tags, tag, users)
    if users and string.find(users, owner .. "/", 1, true) then return { MQRC.CONN_TAG_NOT_RELEASED } end
end
return { 0 }
