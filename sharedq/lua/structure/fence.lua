--[[
structure/fence.lua - shut out dead owners: an incarnation, a process, or single connections.

First call for an incarnation or process: nobody under it can register again. Then its registered connections are
moved, as they are found, to `dead`, where they stay until their work is resolved.

KEYS
  1  own    hash  registered owners (value: waiting state)
  2  fence  hash  dead incarnations and processes
  3  dead   hash  fenced owners whose work is still to be resolved (value: waiting state)
ARGV
  1  caller       owner token of the recoverer
  2  field        "" or what to write in fence: a manager's name, or a process token
  3  value        incarnation number, or time
  4.. owner tokens to shut out
REPLY       { 0, owners shut out } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(owners given)
USES        fence
]]
local own, fence, dead = KEYS[1], KEYS[2], KEYS[3]
if is_fenced(own, ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local field, value = ARGV[2], ARGV[3]
if field ~= "" then
    -- A late recoverer of an older incarnation must not lower the mark.
    local written = tonumber(redis.call("HGET", fence, field) or 0)
    if tonumber(value) > written then redis.call("HSET", fence, field, value) end
end
local count = 0
for position = 4, #ARGV do
    local token = ARGV[position]
    local state = redis.call("HGET", own, token)
    if state then
        redis.call("HSET", dead, token, state)
        redis.call("HDEL", own, token)
        count = count + 1
    end
end
return { 0, count }
