--[[
structure/fence.lua - shut out dead owners: an incarnation, a process, or single connections.

First call for an incarnation or process: nobody under it can register again. Then its registered connections are
moved, as they are found, to `dead`, where they stay until their work is resolved. One that waits leaves the
waiters in the same moment: a put that woke it would register it again, and the wake-up would be lost.

KEYS
  1  own           hash  registered owners (value: waiting state)
  2  fence         hash  dead incarnations, processes and connections
  3  dead          hash  fenced owners whose work is still to be resolved (value: "", or as prelude/waiting has it "K" or "H")
  4  queue_base    base  queues
  5  waiters_base  base  waiting gets
ARGV
  1  caller       owner token of the recoverer
  2  field        "" or what to write in fence: a manager's name, or the token of a process or a connection
  3  value        incarnation number, or time
  4.. owner tokens to shut out; with a manager's name also older entries of fence that it makes needless
REPLY       { 0, owners shut out } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(owners given * log waiters)
USES        fence
]]
local own, fence, dead = KEYS[1], KEYS[2], KEYS[3]
if is_fenced(own, ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local field, value = ARGV[2], ARGV[3]
local is_incarnation = field ~= "" and not string.find(field, ".", 1, true)
if field ~= "" then
    -- A late recoverer of an older incarnation must not lower the mark.
    local written = tonumber(redis.call("HGET", fence, field) or 0)
    if tonumber(value) > written then redis.call("HSET", fence, field, value) end
end

local function leave_waiters(state)
    if string.sub(state, 1, 1) ~= "W" then return state end
    local name, member = string.match(string.sub(state, 2), "^([^\n]*)\n(.*)$")
    if redis.call("ZREM", KEYS[5] .. name, member) == 1 then redis.call("HINCRBY", KEYS[4] .. name, "nw", -1) end
    return ""
end

local count = 0
for position = 4, #ARGV do
    local token = ARGV[position]
    local state = redis.call("HGET", own, token)
    if state then
        redis.call("HSET", dead, token, leave_waiters(state))
        redis.call("HDEL", own, token)
        count = count + 1
    end
    if is_incarnation then redis.call("HDEL", fence, token) end
end
return { 0, count }
