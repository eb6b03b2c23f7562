--[[
The message journal: one stream entry a script call, for the pipeline; off when the limit is "0".
]]
local function journal(stream, limit, ...)
    if limit ~= "0" then redis.call("XADD", stream, "MAXLEN", "~", limit, "*", ...) end
end
