--[[
admin/member_state.lua - a manager's state or details change, told by the incarnation that holds the name, or to it.

KEYS
  1 members, 2 fence
ARGV
  1 qmgr, 2 incarnation
  3  changes    JSON object, merged into the member's
REPLY       { 0, JSON } | { reason }
REASONS     2009 CONNECTION_BROKEN (another incarnation holds the name, or a peer recovers this one)
INVARIANTS  2 fencing
COST        O(1)
]]
local known = redis.call("HGET", KEYS[1], ARGV[1])
local info = known and cjson.decode(known)
if not info or info.incarnation ~= tonumber(ARGV[2]) then return { MQRC.CONNECTION_BROKEN } end
if tonumber(redis.call("HGET", KEYS[2], ARGV[1]) or 0) >= info.incarnation then return { MQRC.CONNECTION_BROKEN } end
for name, value in pairs(cjson.decode(ARGV[3])) do info[name] = value end
local text = cjson.encode(info)
redis.call("HSET", KEYS[1], ARGV[1], text)
return { 0, text }
