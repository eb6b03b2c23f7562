--[[
structure/fence.lua - shut out dead owners: incarnations, processes, or single connections.

First call for an incarnation or process: nobody under it can register again. Then its registered connections are
moved, as they are found, to `dead`, where they stay until their work is resolved; a single connection is marked and moved
in one call. One that waits leaves the waiters in the same moment: a put that woke it would register it again, and the
wake-up would be lost.

KEYS
  1 own, 2 fence
  3  dead          hash  fenced owners whose work is still to be resolved (value: "", or as prelude/waiting has it "K" or "H")
  4 queue_base, 5 waiters_base
ARGV
  1  caller       owner token of the recoverer
  2  marks        how many
  3.. for each: what to write in fence, a manager's name or the token of a process or a connection; its value, incarnation
      number or time
      after them owner tokens to shut out; with a manager's name also older entries of fence that it makes needless
REPLY       { 0, owners shut out } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(marks + owners given * log waiters)
USES        fence
]]
local own, fence, dead = KEYS[1], KEYS[2], KEYS[3]
if is_fenced(own, ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local FIRST, WORDS = 3, 2
local owners_begin = FIRST + WORDS * tonumber(ARGV[2])
local incarnations = {}
for position = FIRST, owners_begin - 1, WORDS do
    local field, value = ARGV[position], tonumber(ARGV[position + 1])
    if not string.find(field, ".", 1, true) then incarnations[field] = value end
    -- A late recoverer of an older incarnation must not lower the mark.
    local written = tonumber(redis.call("HGET", fence, field) or 0)
    if value > written then redis.call("HSET", fence, field, ARGV[position + 1]) end
end

local function leave_waiters(state)
    if string.sub(state, 1, 1) ~= "W" then return state end
    local name, member = string.match(string.sub(state, 2), "^([^\n]*)\n(.*)$")
    if redis.call("ZREM", KEYS[5] .. name, member) == 1 then redis.call("HINCRBY", KEYS[4] .. name, "nw", -1) end
    return ""
end

local count = 0
for position = owners_begin, #ARGV do
    local token = ARGV[position]
    local state = redis.call("HGET", own, token)
    if state then
        redis.call("HSET", dead, token, leave_waiters(state))
        redis.call("HDEL", own, token)
        count = count + 1
    end
    local qmgr, incarnation = string.match(token, "^([^.]+)%.(%d+)")
    if incarnations[qmgr] and tonumber(incarnation) <= incarnations[qmgr] then redis.call("HDEL", fence, token) end
end
return { 0, count }
