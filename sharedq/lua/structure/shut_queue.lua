--[[
structure/shut_queue.lua - igq group remove: shut a queue of the manager that is removed, or open it again.

A queue that is shut has no definition, so nobody can open it or put to it; nothing else of it changes. One that has none
gets none before it is opened again.

KEYS
  1  versions   hash  "QMGR" and a manager: the latest number, of a start or of a removal, that this structure knows
  2 queue, 3 available, 4 handles
  5  sequence   string  counter, which a structure has from its first definition on, until it loses its keys
ARGV
  1  field      of versions
  2  attempt    number of the removal
  3  mode       shut: refused unless it is empty | shut full: with its messages, which nobody waits for | open
REPLY       { 0 } | { reason }
REASONS     2009 CONNECTION_BROKEN (another attempt goes on with it, or the manager was started since)
            | 2042 OBJECT_IN_USE | 2055 Q_NOT_EMPTY (also: uncommitted, or locked)
            | 2346 CF_STRUC_IN_USE (RECOVER CFSTRUCT is under way) | 2373 CF_STRUC_FAILED (it is shut, but the structure has
            lost its keys, or never had any queue: which of them, the directory tells)
INVARIANTS  2 fencing
COST        O(1)
USES        idle
]]
local queue, attempt = { q = KEYS[2], a = KEYS[3], h = KEYS[4] }, tonumber(ARGV[2])
if tonumber(redis.call("HGET", KEYS[1], ARGV[1]) or 0) > attempt then return { MQRC.CONNECTION_BROKEN } end
local version, definition, locked, shut = unpack(redis.call("HMGET", queue.q, "ver", "def", "lk", "shut"))
if ARGV[3] ~= "open" then
    if redis.call("HEXISTS", KEYS[1], "RECOVER") == 1 then return { MQRC.CF_STRUC_IN_USE } end
    if redis.call("HLEN", queue.h) > 0 then return { MQRC.OBJECT_IN_USE } end
    if uncommitted(queue) > 0 or tonumber(locked or 0) > 0 then return { MQRC.Q_NOT_EMPTY } end
    if ARGV[3] == "shut" and not is_empty(queue) then return { MQRC.Q_NOT_EMPTY } end
    if version then
        redis.call("HSET", queue.q, "shut", version .. "\n" .. definition)
        redis.call("HDEL", queue.q, "ver", "def")
    elseif not shut then
        redis.call("HSET", queue.q, "shut", "")
    end
elseif shut then
    version, definition = string.match(shut, "^(%d+)\n(.*)$")
    if version then
        redis.call("HSET", queue.q, "ver", version, "def", definition)
        INLINE.note_look(queue.q)
    end
    redis.call("HDEL", queue.q, "shut")
end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] ~= "open" and redis.call("EXISTS", KEYS[5]) == 0 then return { MQRC.CF_STRUC_FAILED } end
return { 0 }
