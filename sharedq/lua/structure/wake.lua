--[[
structure/wake.lua - wake one that blocks on a key, for a reason that is no message: an agent in its state of
retry, a waiting get whose manager quiesces.

KEYS
  1  wake  list  what it blocks on
  2  own   hash  registered owners, and how each waits; only of a connection
ARGV
  1  why      pushed
  2  kept_s   seconds after which a wake-up that nobody waits for is forgotten; 0 it ends with its connection's wait
  3  owner    whom it wakes, if it waits; only of a connection
REPLY       { 0 }
REASONS     none
INVARIANTS  none
COST        O(1)
]]
local kept_s, LOST_S = ARGV[2], 60
if KEYS[2] then
    local state = redis.call("HGET", KEYS[2], ARGV[3])
    -- Its wait may have ended meanwhile: nobody would ever take this.
    if state == "" then return { 0 } end
    -- Its connection has ended, or a structure that has lost its keys does not know that it waits.
    if not state then kept_s = LOST_S end
end
-- Where it is kept the latest is enough: nobody may wait for a long time.
if kept_s ~= "0" then redis.call("DEL", KEYS[1]) end
redis.call("RPUSH", KEYS[1], ARGV[1])
if kept_s ~= "0" then redis.call("EXPIRE", KEYS[1], kept_s) end
return { 0 }
