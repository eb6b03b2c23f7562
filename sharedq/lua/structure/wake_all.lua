--[[
structure/wake_all.lua - wake waiting gets of a queue, so that they look at it again (it was altered).

KEYS
  1 own, 2 queue, 3 waiters, 4 wake_base
ARGV
  1  queue_name
  2  limit      how many to wake in this call
  3  after      the last waiter of the call before; "" from the start
  4  begun_at   the version that the call before answered; "" from the start
REPLY       { the version in force when this began, the last waiter woken or "" when there are no more }
REASONS     none
INVARIANTS  4 bounded scripts
COST        O(limit * log waiters)
USES        place
]]
local queue = { name = ARGV[1], q = KEYS[2], w = KEYS[3] }
local version = redis.call("HGET", queue.q, "ver") or ""
local begun_at = ARGV[3] == "" and version or ARGV[4]
-- In one pass through the waiters: one that waits again at once is not woken a second time instead of another.
local from = ARGV[3] == "" and "-" or "(" .. ARGV[3]
local found = redis.call("ZRANGEBYLEX", queue.w, from, "+", "LIMIT", 0, tonumber(ARGV[2]))
for _, member in ipairs(found) do wake(queue, KEYS[1], KEYS[4], member, waiter_token(member)) end
if #found == tonumber(ARGV[2]) then return { begun_at, found[#found] } end
-- Altered again meanwhile: the process that did that has waiters to wake that this call never met.
if version == begun_at then redis.call("HDEL", queue.q, "al") end
return { begun_at, "" }
