--[[
The message journal: one stream entry a script call, for the pipeline; off when the limit is "0".
]]
local function journal(stream, limit, ...)
    INLINE.journal(stream, limit, ...)
end
