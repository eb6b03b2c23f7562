--[[
admin/register_process.lua - a program becomes a process of a running manager, with a lease of its own.

KEYS
  1  group      hash  counters; "settings": JSON of those that belong to the group
  2 members, 3 leases, 4 processes
ARGV
  1  qmgr
  2  lease_ms    where the group has none recorded, and for the manager's own process
  3  info        JSON: pid, application name
  4  internal    1: the manager's own process, also while it starts
  5  speaks      the oldest and the newest format of the key space that the caller works with
REPLY       { 0, incarnation, process number, pid of the manager, settings of the group or "" } | { reason }
            | { 2059, format of the group } the caller does not speak it
REASONS     2059 Q_MGR_NOT_AVAILABLE | 2161 Q_MGR_QUIESCING
INVARIANTS  2 fencing
COST        O(log members)
USES        membership, formats
]]
local FIRST_NUMBERS = 100000000
local group, members, leases, processes = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local qmgr = ARGV[1]
local format = foreign_format(group, ARGV[5])
if format then return { MQRC.Q_MGR_NOT_AVAILABLE, format } end
local known = redis.call("HGET", members, qmgr)
if not known then return { MQRC.Q_MGR_NOT_AVAILABLE } end
local member = cjson.decode(known)
local incarnation = string.format("%d", member.incarnation)
local deadline = redis.call("ZSCORE", leases, qmgr .. "." .. incarnation)
local now = now_ms()
if not deadline or tonumber(deadline) <= now then return { MQRC.Q_MGR_NOT_AVAILABLE } end
if ARGV[4] ~= "1" then
    if member.state == "QUIESCING" then return { MQRC.Q_MGR_QUIESCING } end
    if member.state ~= "RUNNING" then return { MQRC.Q_MGR_NOT_AVAILABLE } end
end
-- Where there was no counter the group is new, or Redis has lost all it had under programs that still run: none of those
-- may be taken for one of these, so numbers begin where those did not come.
local settings = redis.call("HGET", group, "settings") or ""
local lease_ms = settings ~= "" and ARGV[4] ~= "1" and cjson.decode(settings).lease_ms or tonumber(ARGV[2])
redis.call("HSETNX", group, "process", now % FIRST_NUMBERS)
local number = redis.call("HINCRBY", group, "process", 1)
local process = qmgr .. "." .. incarnation .. "." .. number
redis.call("ZADD", leases, now + lease_ms, process)
redis.call("HSET", processes, process, ARGV[3])
return { 0, member.incarnation, number, member.pid or 0, settings }
