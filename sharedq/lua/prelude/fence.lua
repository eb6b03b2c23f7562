--[[
Fencing: only a registered owner may change state.
]]
local function is_fenced(own, owner)
    return redis.call("HEXISTS", own, owner) == 0
end
