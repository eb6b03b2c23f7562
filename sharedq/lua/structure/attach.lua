--[[
structure/attach.lua - register a connection in a structure, before its first call there.

After this the connection asks the administration structure once more whether it is fenced, so that an owner that a
recoverer has already passed enters no structure.

The text that the loader puts in front of it (sharedq/redis/script_source.py) also asks for the commands of the scripts
that run for every message.

KEYS
  1 own, 2 fence
ARGV
  1  owner        owner token
  2  qmgr         manager's name
  3  incarnation
  4  process      process token
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing
COST        O(1)
]]
local dead = redis.call("HMGET", KEYS[2], ARGV[2], ARGV[4], ARGV[1])
if tonumber(dead[1] or 0) >= tonumber(ARGV[3]) or dead[2] or dead[3] then return { MQRC.CONNECTION_BROKEN } end
redis.call("HSETNX", KEYS[1], ARGV[1], "")
return { 0 }
