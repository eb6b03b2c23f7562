--[[
admin/renew.lua - renew a lease; look at leases of the group that have run out, or will next, in the same call.

A manager renews the leases of its own processes (its agent) with its own. A lease that a recoverer has claimed is
gone from the set and cannot be renewed. A lease also cannot be renewed after a later incarnation took the name: it had
run out, and stays so until it is recovered. Two managers of one name would be alive otherwise. So if a look finds that
no lease at all has run out, the caller need not be looked up: this call is what an idle group does all day.

KEYS
  1 leases
  2  members  hash  manager -> JSON; "!structures": how many changes of structures were told
ARGV
  1  token     incarnation or process
  2  lease_ms
  3  qmgr      its manager
  4  look      how many leases to return at most of those that run out next; 0: do not look. Besides, all leases
               are returned that have run out and that this manager may recover, among at most PAGE
  5  ask       1 return the JSON of the manager; 0 only where it had to be read
  6.. tokens of processes to renew as well
REPLY       { 1 renewed or 0 lost, now in ms, JSON of the manager, [lease, deadline, ...], [other tokens lost],
              how many changes of structures were told (admin/structure_state), where the JSON was asked for }
REASONS     none
INVARIANTS  2 fencing
COST        O(tokens * log members), with a look as much for at most 500 leases that have run out
USES        membership
]]
local leases, look, PAGE = KEYS[1], tonumber(ARGV[4]), 500
local now = now_ms()
local first = look > 0 and redis.call("ZRANGE", leases, 0, look - 1, "WITHSCORES")
local has_none_lapsed = first and (not first[2] or tonumber(first[2]) > now)
local known, failures
if ARGV[5] == "1" or not has_none_lapsed then
    known, failures = unpack(redis.call("HMGET", KEYS[2], ARGV[3], "!structures"))
end
local is_held, lost = true, {}
local deadline, tokens, pairs_given = now + tonumber(ARGV[2]), { ARGV[1] }, {}
for position = 6, #ARGV do tokens[#tokens + 1] = ARGV[position] end
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

-- Nothing has run out: the next leases are known, but for those that this call itself has just put off.
local function next_ones()
    local is_renewed = {}
    for _, token in ipairs(tokens) do is_renewed[token] = is_held end
    for position = 1, #first, 2 do
        if is_renewed[first[position]] then first[position + 1] = tostring(deadline) end
    end
    return first
end

-- Returns the leases that the watch is to see: those that have run out and may be this manager's business, managers'
-- first, then those that will run out next.
local function seen(limit)
    local managers, programs, stands = {}, {}, {}
    local own, lapsed = string.match(ARGV[1], "^[^.]+%.%d+"), redis.call("ZCOUNT", leases, "-inf", now)
    if lapsed > 0 then
        -- Where more have run out than one look goes through, any look may go through any of them.
        local begin = now % math.ceil(lapsed / PAGE) * PAGE
        local page = redis.call("ZRANGE", leases, begin, math.min(begin + PAGE, lapsed) - 1, "WITHSCORES")
        for position = 1, #page, 2 do
            local target = string.match(page[position], "[^!]+")
            local incarnation = string.match(target, "^[^.]+%.%d+")
            -- Another manager's programs are its own business, or that of its recovery, while it stands here itself.
            if stands[incarnation] == nil then
                stands[incarnation] = incarnation ~= own
                    and (redis.call("ZSCORE", leases, incarnation) or redis.call("ZSCORE", leases, "!" .. incarnation))
            end
            local list = target == incarnation and managers or not stands[incarnation] and programs or {}
            list[#list + 1] = { page[position], page[position + 1] }
        end
    end
    local leases_seen = {}
    for _, list in ipairs({ managers, programs }) do
        for _, lease in ipairs(list) do
            leases_seen[#leases_seen + 1], leases_seen[#leases_seen + 2] = lease[1], lease[2]
        end
    end
    local more = math.max(1, limit - #leases_seen / 2)
    for _, part in ipairs(redis.call("ZRANGE", leases, lapsed, lapsed + more - 1, "WITHSCORES")) do
        leases_seen[#leases_seen + 1] = part
    end
    return leases_seen
end

local leases_told = not first and {} or has_none_lapsed and next_ones() or seen(look)
return { is_held and 1 or 0, now, known or false, leases_told, lost, tonumber(failures or 0) }
