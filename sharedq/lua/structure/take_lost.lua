--[[
structure/take_lost.lua - igq fsck: a message that is on no queue becomes one that the caller's unit of work has got, so
that its backout, or the recovery of the caller, puts it on a queue.

KEYS
  1 own, 2 dead, 3 unit_base, 4 messages, 5 expiry, 6 trash
  7  set_aside_base  base    those messages
  8 available_base, 9 members_base, 10 locks_base
  11 queue           hash    the queue that the message goes to
  12 journal
ARGV
  1  caller       owner token of the one who repairs
  2  unit_id      of its unit of work, which is empty
  3  id           message id
  4  queue_name   of the queue that the message goes to
  5  score        its place there
  6  code         destination code in the id, where the queue is that destination; ""
  7  journal_max
  8  prepared     how many units of work are prepared
  9.. their ids; after them the names of all queues
REPLY       { 0, 1 taken or 0 it has a place by now, or the queue is gone } | { 1 } too much to look at | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  1 one state, 2 fencing, 4 bounded, 8 once
COST        O(queues * log depth + owners + operations), 10,000 at most
USES        fence, unit_of_work, journal
]]
local own, dead, messages, queue, caller, id = KEYS[1], KEYS[2], KEYS[4], KEYS[11], ARGV[1], ARGV[3]
local LOOKS_MAX, TOO_MUCH = 10000, 1
if is_fenced(own, caller) then return { MQRC.CONNECTION_BROKEN } end
if redis.call("HEXISTS", messages, id) == 0 or redis.call("HEXISTS", queue, "ver") == 0 then return { 0, 0 } end

local units_end = 8 + tonumber(ARGV[8])
local looks = #ARGV - 8 + redis.call("HLEN", own) + redis.call("HLEN", dead) + redis.call("HLEN", KEYS[6])
if looks > LOOKS_MAX then return { TOO_MUCH } end
local units = {}
for position = 9, units_end do units[#units + 1] = ARGV[position] end
for _, owners in ipairs({ own, dead }) do
    for _, token in ipairs(redis.call("HKEYS", owners)) do units[#units + 1] = token end
end
for _, unit in ipairs(units) do looks = looks + redis.call("LLEN", KEYS[3] .. unit) end
if looks > LOOKS_MAX then return { TOO_MUCH } end

local word = " " .. id .. " "
for _, unit in ipairs(units) do
    for position, element in ipairs(redis.call("LRANGE", KEYS[3] .. unit, 0, -1)) do
        if position > 1 and string.find(" " .. read_operation(element).ids_text .. " ", word, 1, true) then
            return { 0, 0 }
        end
    end
end
for _, number in ipairs(redis.call("HKEYS", KEYS[6])) do
    if redis.call("ZSCORE", KEYS[7] .. number, id) then return { 0, 0 } end
end
for position = units_end + 1, #ARGV do
    local name = ARGV[position]
    local is_there = redis.call("ZSCORE", KEYS[8] .. name, id) or redis.call("ZSCORE", KEYS[9] .. name, id)
        or tonumber(redis.call("ZSCORE", KEYS[5], name .. " " .. id) or 0) < 0
    if is_there then return { 0, 0 } end
    for _, text in ipairs(redis.call("HVALS", KEYS[10] .. name)) do
        if string.find(" " .. text, " " .. id .. ":", 1, true) then return { 0, 0 } end
    end
end

record_operation(KEYS[3] .. caller, ARGV[2], "G", ARGV[4], { id }, { ARGV[5] })
redis.call("HINCRBY", queue, "gu", 1)
if redis.call("HSTRLEN", messages, id) > CONST.LONG then redis.call("HSET", queue, "lg", 1) end
-- A get by MsgId finds a message that came by intra-group queuing by the code in its id.
if ARGV[6] ~= "" then redis.call("HSETNX", queue, "code", ARGV[6]) end
journal(KEYS[12], ARGV[7], "e", "get", "o", caller, "q", ARGV[4], "u", ARGV[2], "i", id, "c", "1")
return { 0, 1 }
