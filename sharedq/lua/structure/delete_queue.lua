--[[
structure/delete_queue.lua - delete or clear a local queue: in one moment it is gone, or empty.

The messages leave the queue together, by renaming its sets; their bodies go afterwards, in chunks
(structure/discard.lua). The sets put aside are noted, so that a crash in between loses track of nothing.

A dynamic queue that an MQCLOSE deletes while others have it open is deleted logically: it has no definition any more, so
every call through their handles is refused, and it goes with what is on it when the last of them is closed. Until then
nothing is defined in its place.

KEYS
  1 sequence, 2 queue, 3 available, 4 index, 5 groups, 6 waiters, 7 handles, 8 trash
  9  set_aside  base    sets of what is set aside
  10 members
  11 marks      hash    what is left of marks; and base of what a mover has marked
  12 own, 13 wake_base
ARGV
  1  queue_name
  2  mode      delete: refused unless empty | purge: delete with what is on it | clear: empty it
               | rest: what is left of a part that was closed
  3  version   "" or the only version that may be deleted
  4  closed    of a part of a partitioned queue: delete or purge only close it, for definitions up to this version;
               its messages stay, until all parts are closed and the rest goes. "" otherwise
  5  caller    owner token of the connection whose MQCLOSE this is; "" for a command
  6  maker     "" or the only connection whose queue may be deleted: an MQOPEN of it made the queue
  7  is_closing  1: an MQCLOSE of a handle that is still open: it is deleted logically
  8  author    owner token whose manager hears of the events, for a command too
REPLY       { 0, numbers of what was set aside } | { 1 } it is deleted logically, and open | { reason }
REASONS     2009 CONNECTION_BROKEN | 2042 OBJECT_IN_USE | 2055 Q_NOT_EMPTY (also: uncommitted) | 2085 UNKNOWN_OBJECT_NAME (clear)
            | 2041 OBJECT_CHANGED (another version, or maker); a queue that is deleted logically is 2042 to a command
INVARIANTS  1 one state, 2 fencing, 4 bounded
COST        O(1 + waiters, at most 256)
USES        fence, idle, waiting
]]
local queue = { name = ARGV[1], q = KEYS[2], a = KEYS[3], w = KEYS[6], h = KEYS[7] }
local trash, mode = KEYS[8], ARGV[2]
if ARGV[5] ~= "" and is_fenced(KEYS[12], ARGV[5]) then return { MQRC.CONNECTION_BROKEN } end
local state, closed, LOGICALLY = redis.call("HMGET", queue.q, "ver", "del", "lk"), ARGV[4], 1
local version, is_closing, has_handles = state[1], ARGV[7] == "1", redis.call("HLEN", queue.h) > 0
if state[2] and (has_handles or mode == "clear") then
    return { ARGV[5] == "" and MQRC.OBJECT_IN_USE or LOGICALLY }
end
-- Defined again, with what it held.
if mode == "rest" and version then return { 0 } end
if version then
    if ARGV[3] ~= "" and version ~= ARGV[3] then return { MQRC.OBJECT_CHANGED } end
    if (ARGV[6] or "") ~= "" and redis.call("HGET", queue.q, "by") ~= ARGV[6] then return { MQRC.OBJECT_CHANGED } end
    local is_logical = is_closing or (has_handles and (ARGV[6] or "") ~= "")
    if has_handles and not is_logical then return { MQRC.OBJECT_IN_USE } end
    if uncommitted(queue) > 0 then return { MQRC.Q_NOT_EMPTY } end
    if mode == "delete" and not (is_empty(queue) and tonumber(state[3] or 0) == 0) then return { MQRC.Q_NOT_EMPTY } end
    if is_logical then
        redis.call("HDEL", queue.q, "ver", "def")
        redis.call("HSET", queue.q, "del", "1")
        -- In this moment: if the caller dies next, nobody else knows that they wait for nothing.
        wake_everyone(queue, KEYS[12], KEYS[13])
        return { LOGICALLY }
    end
elseif state[2] then
    -- The last handle has been closed.
    mode = "purge"
elseif closed == "" and mode ~= "rest" then
    if mode == "clear" then return { MQRC.UNKNOWN_OBJECT_NAME } end
    -- Deleted before, by a command that did not come to its end. The caller goes on to take the name out of the directory,
    -- so replicas must know of the deletion before; and Redis has only writers wait for replicas.
    redis.call("HSET", queue.q, "ver", "")
    redis.call("HDEL", queue.q, "ver")
    return { 0 }
end
-- The agents of a manager wait without a handle; there is one, or two of which one is being recovered.
if mode ~= "clear" then wake_everyone(queue, KEYS[12], KEYS[13]) end
if closed ~= "" then
    redis.call("HDEL", queue.q, "ver", "def")
    redis.call("HSET", queue.q, "gone", closed)
    return { 0 }
end

local reply, went = { 0 }, INLINE.depth(queue.a, 0, 0, redis.call("HGET", queue.q, "gm"))
for _, set in ipairs({ queue.a, KEYS[10] }) do
    if redis.call("ZCARD", set) > 0 then
        local number = redis.call("INCR", KEYS[1])
        redis.call("RENAME", set, KEYS[9] .. number)
        redis.call("HSET", trash, number, ARGV[1])
        reply[#reply + 1] = number
    end
end
redis.call("HDEL", queue.q, "gm", "mk")
redis.call("UNLINK", KEYS[4], KEYS[5], KEYS[11], KEYS[11] .. "\nM\na", KEYS[11] .. "\nM\nr")
if mode == "clear" then
    if went > 0 then INLINE.note_change(queue.q, queue.a, queue.name, ARGV[8], 0, went) end
else
    local gone = redis.call("HGET", queue.q, "gone")
    redis.call("UNLINK", queue.q, queue.w)
    if gone then redis.call("HSET", queue.q, "gone", gone) end
    local owed, name = string.match(queue.q, "^{[^}]*}") .. ":owed", queue.name
    redis.call("HDEL", owed, "L " .. name, "A " .. name, "N " .. name, "E " .. name, "W " .. name)
end
return reply
