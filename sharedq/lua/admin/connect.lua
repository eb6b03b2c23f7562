--[[
admin/connect.lua - MQCONN, MQCONNX: register a connection; take its connection tag.

One script, because "nobody holds the tag" and "now I do" must be one moment. A dead holder keeps its tag until
the recovery of its units of work has ended: the next holder could otherwise overtake messages on their way back.

KEYS
  1  own      hash  registered connections -> JSON
  2  fence    hash  dead incarnations, processes and connections
  3  tags     hash  scope + tag -> owner token
  4  members  hash  manager -> JSON
  5  leases   zset  incarnation or process -> deadline
  6  qmgr     hash  manager -> JSON with its attributes
ARGV
  1  owner
  2  qmgr
  3  incarnation
  4  process
  5  info     JSON, for DISPLAY CONN
  6  tag      "" or scope and tag
  7  internal 1: the manager's own connection, in any state
REPLY       { 0, "", MAXUMSGS, MAXHANDS, CCSID } | { 0, "" } the manager has no attributes yet
            | { reason, owner token in the way }
REASONS     2009 CONNECTION_BROKEN | 2271 CONN_TAG_IN_USE | 2161 Q_MGR_QUIESCING
INVARIANTS  2 fencing, 6 sequence under failure
COST        O(log members)
USES        membership
SOURCE      IBM MQ reference, MQCNO: MQCNO_SERIALIZE_CONN_TAG_QSG
]]
local own, fence, tags, members, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, process, tag = ARGV[1], ARGV[4], ARGV[6]
if is_dead(fence, ARGV[2], ARGV[3], process, owner) then return { MQRC.CONNECTION_BROKEN, "" } end
if not redis.call("ZSCORE", leases, process) then return { MQRC.CONNECTION_BROKEN, "" } end
local member = redis.call("HGET", members, ARGV[2])
if ARGV[7] ~= "1" and member and cjson.decode(member).state == "QUIESCING" then
    return { MQRC.Q_MGR_QUIESCING, "" }
end
if tag ~= "" then
    local holder = redis.call("HGET", tags, tag)
    if holder and holder ~= owner then return { MQRC.CONN_TAG_IN_USE, holder } end
    redis.call("HSET", tags, tag, owner)
end
redis.call("HSET", own, owner, ARGV[5])
local qmgr = redis.call("HGET", KEYS[6], ARGV[2])
if not qmgr then return { 0, "" } end
local attributes = cjson.decode(qmgr).attributes
return { 0, "", attributes.max_uncommitted_msgs, attributes.max_handles, attributes.ccsid }
