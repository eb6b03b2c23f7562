--[[
structure/remove_keys.lua - igq group remove: drop what a structure has of a manager whose queues are all shut.

KEYS
  1  versions  hash  "QMGR" and a manager: the latest number, of a start or of a removal, that this structure knows
  2.. keys to drop, that of versions itself too where the structure was the manager's own
ARGV
  1  field     of versions
  2  attempt   number of the removal
  3.. fields of versions to forget
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN (another attempt goes on with it, or the manager was started since)
INVARIANTS  2 fencing, 4 bounded
COST        O(keys given); Redis frees them after the call
]]
if tonumber(redis.call("HGET", KEYS[1], ARGV[1]) or 0) > tonumber(ARGV[2]) then return { MQRC.CONNECTION_BROKEN } end
-- Told again there may be nothing to drop. The caller goes on to forget the manager, so replicas must have what was dropped
-- before; and Redis has only writers wait for replicas.
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
if KEYS[2] then redis.call("UNLINK", unpack(KEYS, 2)) end
if ARGV[3] then redis.call("HDEL", KEYS[1], unpack(ARGV, 3)) end
return { 0 }
