--[[
News for processes, each of which blocks on a list of its own.
]]
-- So many news fit: a process that does not listen leaves no more than these.
local NEWS_MOST = 100

-- Tell the process `token`; the list is forgotten after `kept_s` seconds if no process reads it.
local function push_news(base, token, text, kept_s)
    local list = base .. token
    redis.call("RPUSH", list, text)
    redis.call("LTRIM", list, -NEWS_MOST, -1)
    redis.call("EXPIRE", list, kept_s)
end
