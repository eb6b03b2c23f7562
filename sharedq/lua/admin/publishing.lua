--[[
admin/publishing.lua - a connection opens a topic for publications (MQOPEN), or closes it.

The topic strings stand with the connection, and go with it, however its program ends: DISPLAY TPSTATUS counts them. They are
read and written together, so a connection has 250 KB of them at most; what it opens beyond that is not counted.

KEYS
  1 own, 2 fence, 3 authorities
ARGV
  1  caller  owner token
  2  topic_string
  3  change      1 opened | -1 closed | 0 look only
  4  authorized  1 the caller has looked at the authority records
REPLY       { 0 } | { 1 } nothing is done, for there are authority records to look at | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
MEMORY      refused when Redis is full
COST        O(topic strings that the connection has open), 250 KB of them at most
USES        recoverer
]]
local BYTES_MAX = 250000
local own, caller, topic_string = KEYS[1], ARGV[1], ARGV[2]
if is_shut_out(own, KEYS[2], caller, "") then return { MQRC.CONNECTION_BROKEN } end
if ARGV[4] == "0" and redis.call("EXISTS", KEYS[3]) == 1 then return { 1 } end
if ARGV[3] == "0" then return { 0 } end
local text = redis.call("HGET", own, caller)
local info = cjson.decode(text)
local topics = info.topics or {}
if ARGV[3] == "1" and not topics[topic_string] and #text > BYTES_MAX then return { 0 } end
local count = (topics[topic_string] or 0) + tonumber(ARGV[3])
topics[topic_string] = count > 0 and count or nil
info.topics = next(topics) and topics or nil
redis.call("HSET", own, caller, cjson.encode(info))
return { 0 }
