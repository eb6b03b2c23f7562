--[[
How prepared units of work have ended, as `completed` remembers the latest: C committed, B backed out, M committed but for
what a structure had lost, R lost with all of its structures, though its commit was decided.
]]
local function how_ended(completed, field)
    local letters = { "C", "B", "M", "R" }
    local members = {}
    for position, letter in ipairs(letters) do members[position] = letter .. " " .. field end
    for position, found in ipairs(redis.call("ZMSCORE", completed, unpack(members))) do
        if found then return letters[position] end
    end
end

-- A caller that is told again how one has ended must wait for replicas that have it, and Redis has only writers wait.
local function note_again(completed, field, how)
    redis.call("ZADD", completed, "INCR", 1, how .. " " .. field)
end
