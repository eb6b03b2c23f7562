--[[
A recoverer and its claim: who may go on with the recovery of a target.
USES membership
]]
local function is_under(token, target)
    return token == target or string.sub(token, 1, #target + 1) == target .. "."
end

-- A recoverer can be dead itself, or recovered: then its fence is gone, and the group does not know it. A manager that
-- stops recovers its own incarnation: that one is not in its way.
local function is_shut_out(own, fence, caller, target)
    if is_under(caller, target) then return false end
    local process, qmgr, incarnation = string.match(caller, "^(([^.]+)%.(%d+)%.%d+)%.%d+$")
    return not is_registered(own, fence, qmgr, incarnation, process, caller)
end

-- The record of a recovery when the caller still has the claim, else nil.
local function claimed_record(recoveries, own, fence, target, caller)
    local text = redis.call("HGET", recoveries, target)
    local record = text and cjson.decode(text)
    if not record or record.claimant ~= caller or record.state == "RESOLVED" then return nil end
    if is_shut_out(own, fence, caller, target) then return nil end
    return record
end
