--[[
structure/discard.lua - drop the next messages of a queue that was cleared or deleted.

KEYS
  1 trash
  2  set_aside  zset    one set of it
  3 messages, 4 expiry, 5 journal
ARGV
  1  number       which set
  2  budget       messages to drop in this call, at most
  3  journal_max
  4  caller       who asked, for the journal
REPLY       messages left
REASONS     none
INVARIANTS  4 bounded
COST        O(budget * log messages)
USES        journal
]]
local trash, set_aside, messages, expiry = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local queue_name = redis.call("HGET", trash, ARGV[1])
local popped = redis.call("ZPOPMIN", set_aside, tonumber(ARGV[2]))
local ids, times = {}, {}
for position = 1, #popped, 2 do
    ids[#ids + 1] = popped[position]
    -- Only these can have an expiry time.
    if string.sub(popped[position], -1) == "x" then times[#times + 1] = (queue_name or "") .. " " .. popped[position] end
end
if #ids > 0 then
    redis.call("HDEL", messages, unpack(ids))
    journal(KEYS[5], ARGV[3], "e", "clear", "o", ARGV[4], "q", queue_name or "", "i", table.concat(ids, " "))
end
if #times > 0 then redis.call("ZREM", expiry, unpack(times)) end
local left = redis.call("ZCARD", set_aside)
if left == 0 then redis.call("HDEL", trash, ARGV[1]) end
return left
