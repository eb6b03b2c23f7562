--[[
structure/wake_all.lua - wake waiting gets of a queue, so that they look at it again (it was altered).

KEYS
  1  own        hash  registered owners (the fence)
  2  queue      hash  counters
  3  waiters    zset  waiting gets
  4  wake_base  base  keys that waiting connections block on
ARGV
  1  queue_name
  2  limit      how many to wake in this call
REPLY       number of waiters left
REASONS     none
INVARIANTS  4 bounded scripts
COST        O(limit * log waiters)
USES        place
]]
local queue = { name = ARGV[1], q = KEYS[2], w = KEYS[3] }
for _, member in ipairs(redis.call("ZRANGE", queue.w, 0, tonumber(ARGV[2]) - 1)) do
    wake(queue, KEYS[1], KEYS[4], member, waiter_token(member))
end
return redis.call("ZCARD", queue.w)
