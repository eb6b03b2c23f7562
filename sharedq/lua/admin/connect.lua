--[[
admin/connect.lua - MQCONN, MQCONNX: register a connection; take its connection tag.

One script, because "nobody holds the tag" and "now I do" must be one moment. A dead holder keeps its tag until
the recovery of its units of work has ended: the next holder could otherwise overtake messages on their way back.

KEYS
  1  own      hash  registered connections -> JSON
  2  fence    hash  dead incarnations, processes and connections
  3  tags     hash  tag -> who uses it
  4  members  hash  manager -> JSON
  5  leases   zset  incarnation or process -> deadline
  6  qmgr     hash  manager -> JSON with its attributes
  7  recoveries  hash  target -> JSON
ARGV
  1  owner
  2  qmgr
  3  incarnation
  4  process
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
-- Whether two connections are of one program, by what they have told of themselves: its process, and where that is.
local function are_one_program(info, other_info)
    local one, other = cjson.decode(info), cjson.decode(other_info)
    local host, other_host = string.match(one.conname or "", "^[^(]*"), string.match(other.conname or "", "^[^(]*")
    -- A client need not tell its process.
    return one.pid == other.pid and one.pid ~= 0 and host == other_host
end

-- Whether a token's connection is the caller's program. The clients of a channel are connections of one process.
local function is_same_program(token)
    if string.sub(token, 1, #process + 1) ~= process .. "." then return false end
    local info = redis.call("HGET", own, token)
    return not info or are_one_program(info, ARGV[5])
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
