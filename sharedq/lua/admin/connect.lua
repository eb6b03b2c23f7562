--[[
admin/connect.lua - MQCONN, MQCONNX: register a connection; take its connection tag.

One script, because "nobody holds the tag" and "now I do" must be one moment. A dead holder keeps its tag until
the recovery of its units of work has ended: the next holder could otherwise overtake messages on their way back.

KEYS
  1 own, 2 fence, 3 tags, 4 members, 5 leases, 6 qmgr, 7 recoveries
ARGV
  1 owner, 2 qmgr, 3 incarnation, 4 process
  5  info     JSON, for DISPLAY CONN
  6  tag      "" or what is asked for (a letter) and tag
  7  internal 1: the manager's own connection, in any state
REPLY       { 0, "", MAXUMSGS, MAXHANDS, CCSID, MAXPROPL } | { 0, "" } the manager has no attributes yet
            | { reason, owner token in the way }
REASONS     2009 CONNECTION_BROKEN | 2271 CONN_TAG_IN_USE | 2350 CONN_TAG_NOT_USABLE | 2161 Q_MGR_QUIESCING
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(log members), and users of the tag
USES        membership, tags
SOURCE      IBM MQ reference, MQCNO: MQCNO_SERIALIZE_CONN_TAG_QSG and the three others
]]
local own, fence, tags, members, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, process, tag = ARGV[1], ARGV[4], ARGV[6]
if is_dead(fence, ARGV[2], ARGV[3], process, owner) then return { MQRC.CONNECTION_BROKEN, "" } end
if not redis.call("ZSCORE", leases, process) then return { MQRC.CONNECTION_BROKEN, "" } end
local member = redis.call("HGET", members, ARGV[2])
if ARGV[7] ~= "1" and member and cjson.decode(member).state == "QUIESCING" then
    return { MQRC.Q_MGR_QUIESCING, "" }
end
local qmgr = redis.call("HGET", KEYS[6], ARGV[2])
local attributes = qmgr and cjson.decode(qmgr).attributes
-- Whether a token's connection is the caller's program. A client of a channel is the connection of a channel server, and
-- the manager may have several of these. A client tells its own process, or none, and where that is.
local function is_same_program(token)
    local function is_of(parent) return string.sub(token, 1, #parent + 1) == parent .. "." end
    local info = redis.call("HGET", own, token)
    if not info then return is_of(process) end
    local one, other = cjson.decode(info), cjson.decode(ARGV[5])
    if not (one.conname and other.conname) then return is_of(process) and one.pid == other.pid end
    local host, other_host = string.match(one.conname, "^[^(]*"), string.match(other.conname, "^[^(]*")
    return is_of(ARGV[2] .. "." .. ARGV[3]) and one.pid == other.pid and one.pid ~= 0 and host == other_host
end

-- Of the users of a tag, one that keeps the caller from using it.
local function in_the_way(users, scope, is_shared)
    for letter, token in string.gmatch(users, "(%a)(%S+)") do
        local is_counted = scope == "g" or string.match(token, "^[^.]+") == ARGV[2]
        local may_share = is_shared and letter == string.lower(letter) and is_same_program(token)
        if is_counted and not may_share then return token end
    end
end

-- Whether the recovery of a token waits for a structure that cannot be used.
local function is_recovery_delayed(token)
    local incarnation, of_process = string.match(token, "^([^.]+%.%d+)"), string.match(token, "^([^.]+%.%d+%.%d+)")
    for _, record in ipairs(redis.call("HMGET", KEYS[7], incarnation, of_process, token)) do
        if record and cjson.decode(record).state == "DELAYED" then return true end
    end
    return false
end

if tag ~= "" then
    local letter, name = string.sub(tag, 1, 1), string.sub(tag, 2)
    local scope = string.lower(letter)
    local users = users_without(redis.call("HGET", tags, name), function(user) return user == owner end) or ""
    local other = in_the_way(users, scope, letter == scope)
    if other then
        return { is_recovery_delayed(other) and MQRC.CONN_TAG_NOT_USABLE or MQRC.CONN_TAG_IN_USE, other }
    end
    set_users(tags, name, users .. (users == "" and "" or " ") .. letter .. owner)
end
redis.call("HSET", own, owner, ARGV[5])
if not attributes then return { 0, "" } end
-- A manager that was defined before there was this limit has none.
local properties = attributes.max_properties_length or -1
return { 0, "", attributes.max_uncommitted_msgs, attributes.max_handles, attributes.ccsid, properties }
