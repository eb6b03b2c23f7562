--[[
admin/suspect.lua - managers to whom the caller has lost its link: each is asked to renew its lease, or loses it soon.

A manager that lives hears the news and renews at once, which gives its lease the full length again. The lease of a dead
one runs out when the time for an answer is over; then the looks at the leases find it, as they find any other.

KEYS
  1 leases
  2  news    base  lists that processes block on
ARGV
  1  caller     the incarnation that has lost the links
  2  answer_ms  the time for an answer
  3  text       the news that makes a manager renew
  4  kept_s     seconds after which news that no process takes are forgotten
  5.. incarnations that are suspected
REPLY       { 0, [incarnations that were asked] }: not those without a lease, or whose lease runs out sooner anyway
REASONS     none
INVARIANTS  2 fencing, 4 bounded scripts
COST        O(tokens * log members)
USES        membership, news
]]
local leases, now = KEYS[1], now_ms()
local answer_by, asked = now + tonumber(ARGV[2]), {}
-- A manager without a lease may be the one whose network is cut.
if tonumber(redis.call("ZSCORE", leases, ARGV[1]) or 0) <= now then return { 0, asked } end
for position = 5, #ARGV do
    local deadline = redis.call("ZSCORE", leases, ARGV[position])
    if deadline and tonumber(deadline) > answer_by then
        redis.call("ZADD", leases, "XX", answer_by, ARGV[position])
        push_news(KEYS[2], ARGV[position], ARGV[3], ARGV[4])
        asked[#asked + 1] = ARGV[position]
    end
end
return { 0, asked }
