--[[
structure/get_selected.lua - MQGET and browse through a handle with a selector.

It is structure/get_grouped, with one more condition: messages that the selector is not true of are passed over. So what
those count (groups, segments, locks, marks) counts here, too. A search that has looked at so many messages in vain, or at
so long ones, says from where on to look again.

EXTENDS structure/get_grouped
KEYS
  1 own, 2 messages, 3 queue, 4 available, 5 index, 6 waiters, 7 unit, 8 expiry, 9 wake, 10 journal,
  11 wake_base, 12 groups, 13 members, 14 locks, 15 marks, 16 marks_base, 17 handles
ARGV
  1  owner, 2 queue_name, 3 version, 4 count, 5 unit_id, 6 mode, 7 length_max, 8 truncate, 9 bytes_max, 10 wait
  11 journal_max, 12 cursor, 13 horizon
  14 id, 15 number, 16 msgid, 17 correl, 18 group, 19 seq, 20 offset, 21 level, 22 firsts, 23 fixed, 24 persistence
  25 whole, 26 under_cursor, 27 unit_is_open, 28 room
  29 handle, 30 lock, 31 marking, 32 mark_ms, 33 members   all as structure/get_grouped has them; 29 is always there
  34 selector     the condition, as JSON
  35 structure    number of the structure
REPLY       as that of structure/get_grouped
REASONS     2009 CONNECTION_BROKEN | 2052 Q_DELETED | 2033 NO_MSG_AVAILABLE | 2034 NO_MSG_UNDER_CURSOR
            | 2102 RESOURCE_PROBLEM | 2219 CALL_IN_PROGRESS | 2003 BACKED_OUT ("=" only) | 2079 TRUNCATED_MSG_ACCEPTED | 2080 TRUNCATED_MSG_FAILED
            | 2024 SYNCPOINT_LIMIT_REACHED | 2200 MSG_MARKED_BROWSE_CO_OP | 2245 INCONSISTENT_UOW | 2247 MATCH_OPTIONS_ERROR | 2255 UOW_NOT_AVAILABLE
INVARIANTS  1 one state, 2 fencing, 5 position, 8 once
RIGHTS      asked by structure/attach
COST        O(messages in front of the one that fits), in one call at most 2000 and few MB of each source, or one message;
            else as structure/get_grouped
USES        place, sources, waiting, unit_of_work, journal, locks, marks, selector
]]
want.is_chosen = true
local first_true, passes_over, leaps = selector_of(ARGV.selector, tonumber(ARGV.structure)), want.skips, want.leap
-- One call looks at so many messages in one source, as `want.begins` names it, and works so much (prelude/selector).
local MESSAGES_MAX, WORK_MAX = 2000, 4000000
-- Records that are copied into the script at once: few until it is known that the first ones do not fit.
local FIRST_PAGE, PAGE = 10, 250
local is_long = redis.call("HEXISTS", queue.q, "lg") == 1
-- By source: what has been looked at, its cost, the place up to which the selector is true of nothing. An expired message
-- makes the call look once more: it goes on from there.
local source, looked, work, reached, verdicts = "", { [""] = 0 }, { [""] = 0 }, {}, {}

function want.begins(name)
    source = name
    looked[name], work[name] = looked[name] or 0, work[name] or 0
end

function want.is_over()
    return work[source] > WORK_MAX
end

-- The position of the first of these messages that the selector is true of, or nil; how many it has looked at.
local function judge(ids, records)
    local position, count, its_work = first_true(ids, records, WORK_MAX - work[source])
    work[source] = work[source] + its_work
    return position, count
end

function want.skips(id, score)
    if passes_over and passes_over(id, score) then return true end
    if verdicts[id] == nil then
        verdicts[id] = judge({ id }, { redis.call("HGET", messages, id) }) ~= nil
    end
    return not verdicts[id]
end

-- How many of these messages are read: no more bytes than a call may read, but at least one message.
local function readable(ids)
    if not is_long then return #ids end
    local bytes = work[source]
    for at, id in ipairs(ids) do
        bytes = bytes + redis.call("HSTRLEN", messages, id)
        if bytes > WORK_MAX then return math.max(at - 1, 1) end
    end
    return #ids
end

-- A place up to which the selector is true of nothing.
function want.leap(key, from)
    if leaps then from = leaps(key, from) end
    if want.level > 0 then return from end
    want.begins(key)
    from = math.max(from, reached[key] or 0)
    local size = FIRST_PAGE
    while looked[key] < MESSAGES_MAX and not want.is_over() do
        local ids = redis.call("ZRANGEBYSCORE", key, "(" .. string.format("%.0f", from), "+inf", "LIMIT", 0, size)
        if #ids == 0 then return from end
        local fitting, last = judge(ids, redis.call("HMGET", messages, unpack(ids, 1, readable(ids))))
        if fitting then verdicts[ids[fitting]], last = true, fitting - 1 end
        looked[key] = looked[key] + last
        if last > 0 then from = tonumber(redis.call("ZSCORE", key, ids[last])) end
        reached[key] = from
        if fitting or last == #ids and #ids < size then return from end
        size = PAGE
    end
    return from, true
end
