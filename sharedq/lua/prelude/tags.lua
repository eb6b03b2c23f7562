--[[
Connection tags. tags[tag] lists who uses it: a letter and an owner token each, blanks between them. The letter says
what was asked for: G or Q, nobody else in the group or at the manager; g or q, nobody but the same program.
A prepared unit of work uses the tag of its connection by itself, under its own id, until it has ended.
]]
-- The users of a tag without those that are gone; nil when nobody is left.
local function users_without(users, is_gone)
    local left = {}
    for user in string.gmatch(users or "", "%S+") do
        if not is_gone(string.sub(user, 2)) then left[#left + 1] = user end
    end
    return left[1] and table.concat(left, " ")
end

local function set_users(tags, tag, users)
    if users then redis.call("HSET", tags, tag, users) else redis.call("HDEL", tags, tag) end
end
