--[[
admin/lapse.lua - igq fsck: what nobody owns here gets a lease that has run out, so that a recovery finds and ends it.

KEYS
  1 own, 2 fence, 3 leases, 4 tags
ARGV
  1  caller       owner token of the one who repairs
  2  qmgr         of the caller
  3 incarnation, 4 process
  5.. for each: kind (lease: the token of a process or a connection; fence: a field of fence; tag: who uses a tag, what it
      did in the structures is resolved), token, its manager, its incarnation, its process, the tag
REPLY       { 0, how many were given a lease or forgotten } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(tokens * log members), and users of the tags
USES        membership, tags
]]
local own, fence, leases = KEYS[1], KEYS[2], KEYS[3]
if not is_registered(own, fence, ARGV[2], ARGV[3], ARGV[4], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local count, now = 0, now_ms()
for position = 5, #ARGV, 6 do
    local kind, token, qmgr, incarnation, process, tag = unpack(ARGV, position, position + 5)
    local lives = redis.call("ZSCORE", leases, process) and (token == process or redis.call("HEXISTS", own, token) == 1)
    local is_recovered = redis.call("ZSCORE", leases, token) or redis.call("ZSCORE", leases, "!" .. token)
    if kind == "tag" then
        if not lives and not is_recovered then
            set_users(KEYS[4], tag, users_without(redis.call("HGET", KEYS[4], tag), function(user) return user == token end))
            count = count + 1
        end
    elseif kind == "fence" then
        local is_over = tonumber(redis.call("HGET", fence, qmgr) or 0) >= tonumber(incarnation)
        -- Of a connection that the group never knew it may still be needed while its program lives.
        if is_over or not is_recovered and not redis.call("ZSCORE", leases, process) then
            count = count + redis.call("HDEL", fence, token)
        end
    elseif not lives and not is_recovered then
        redis.call("ZADD", leases, now, token)
        count = count + 1
    end
end
return { 0, count }
