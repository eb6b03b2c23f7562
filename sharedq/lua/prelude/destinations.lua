--[[
Destination codes: a queue's name -> its code, "#" and a code -> the name; "#" alone: the code that was given last. One that
was forgotten (structure/forget_destinations) is given again only when all four bytes of it are used up.
]]
local function new_code(destinations, name)
    redis.call("HSETNX", destinations, "#", math.floor(redis.call("HLEN", destinations) / 2))
    local code
    repeat
        code = string.format("%.0f", redis.call("HINCRBY", destinations, "#", 1) % 2 ^ 32)
    until code ~= "0" and redis.call("HEXISTS", destinations, "#" .. code) == 0
    redis.call("HSET", destinations, name, code, "#" .. code, name)
    return code
end
