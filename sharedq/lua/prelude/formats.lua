--[[
The format of the key space (sharedq/members/formats.py): a group without a record is of the first.
]]
-- The group's format, if a caller that speaks "oldest newest" cannot work with it.
local function foreign_format(group, speaks)
    local format = tonumber(redis.call("HGET", group, "format") or 1)
    local oldest, newest = string.match(speaks or "1 1", "^(%d+) (%d+)$")
    if format < tonumber(oldest) or format > tonumber(newest) then return format end
end
