--[[
Destination codes: a queue's name -> its code, "#" and a code -> the name; "#" alone: the code that was given last. One that
was forgotten (structure/forget_destinations) is given again only when all four bytes of it are used up.
]]
local function new_code(destinations, name)
    local code
    INLINE.make_code(code, destinations, name)
    return code
end
