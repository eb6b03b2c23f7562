--[[
admin/disconnect.lua - MQDISC: the connection has ended its work; give back its tag.

KEYS
  1  own   hash  registered connections
  2  tags  hash  tag -> who uses it
ARGV
  1  owner
  2  tag    "" or what was asked for (a letter) and tag
REPLY       { 0 }
REASONS     none
INVARIANTS  6 sequence under failure
COST        O(users of the tag)
USES        tags
]]
local tags, owner, tag = KEYS[2], ARGV[1], string.sub(ARGV[2], 2)
redis.call("HDEL", KEYS[1], owner)
if tag ~= "" then
    local users = redis.call("HGET", tags, tag)
    set_users(tags, tag, users_without(users, function(user) return user == owner end))
end
return { 0 }
