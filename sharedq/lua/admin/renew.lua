--[[
admin/renew.lua - renew a lease; look at the earliest leases of the group in the same call.

A manager renews the leases of its own processes (its agent) with its own. A lease that a recoverer has claimed is
gone from the set and cannot be renewed. Nor can that of an incarnation whose name a later one has taken: its lease
had run out, and stays so until it is recovered. Two managers of one name would be alive otherwise.

KEYS
  1  leases   zset  incarnation or process -> deadline
  2  members  hash  manager -> JSON
ARGV
  1  token     incarnation or process
  2  lease_ms
  3  qmgr      its manager
  4  look      how many of the earliest leases to return; 0 none
  5.. tokens of processes to renew as well
REPLY       { 1 renewed or 0 lost, now in ms, JSON of the manager, [lease, deadline, ...], [other tokens lost] } the last with tokens only
REASONS     none
INVARIANTS  2 fencing
COST        O(tokens * log members)
USES        membership
]]
local leases = KEYS[1]
local now = now_ms()
local known = redis.call("HGET", KEYS[2], ARGV[3])
local is_held, lost = true, {}
local deadline, tokens, pairs_given = now + tonumber(ARGV[2]), { ARGV[1] }, {}
for position = 5, #ARGV do tokens[#tokens + 1] = ARGV[position] end
for position, token in ipairs(tokens) do pairs_given[2 * position - 1], pairs_given[2 * position] = deadline, token end
local is_replaced = known and tonumber(string.match(ARGV[1], "^[^.]+%.(%d+)")) < cjson.decode(known).incarnation
if is_replaced then
    is_held, lost = false, { unpack(tokens, 2) }
-- CH counts changes: two renewals within one millisecond change nothing, though the lease is held.
elseif redis.call("ZADD", leases, "XX", "CH", unpack(pairs_given)) < #tokens then
    for position, token in ipairs(tokens) do
        if not redis.call("ZSCORE", leases, token) then
            if position == 1 then is_held = false else lost[#lost + 1] = token end
        end
    end
end
local look = tonumber(ARGV[4])
local earliest = look > 0 and redis.call("ZRANGE", leases, 0, look - 1, "WITHSCORES") or {}
local reply = { is_held and 1 or 0, now, known, earliest }
if #tokens > 1 then reply[5] = lost end
return reply
