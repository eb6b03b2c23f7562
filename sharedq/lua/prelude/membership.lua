--[[
Members of the group, their leases and what is dead. Leases are judged by this server's clock only.
]]
local function now_ms()
    local time = redis.call("TIME")
    return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Whether an owner is dead: its incarnation, its process or the connection itself was shut out.
local function is_dead(fence, qmgr, incarnation, process, owner)
    local dead = redis.call("HMGET", fence, qmgr, process, owner)
    return tonumber(dead[1] or 0) >= tonumber(incarnation) or dead[2] or dead[3]
end

-- Whether the group knows the caller, and has not shut it out. The group knows a recovered one no more: its fence can
-- go then.
local function is_registered(own, fence, qmgr, incarnation, process, owner)
    return redis.call("HEXISTS", own, owner) == 1 and not is_dead(fence, qmgr, incarnation, process, owner)
end
