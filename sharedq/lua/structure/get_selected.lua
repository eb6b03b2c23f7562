--[[
structure/get_selected.lua - MQGET and browse through a handle with a selector.

It is structure/get_grouped, with one more condition: messages that the selector is not true of are passed over. So what
those count (groups, segments, locks, marks) counts here, too. A search that has looked at LOOKED_MAX messages in vain says
from where on to look again.

EXTENDS structure/get_grouped
KEYS
  1  own        hash    registered owners (the fence); value: the owner's waiting state
  2  messages   hash    message id -> record
  3  queue      hash    version, definition, counters
  4  available  zset    ids by score
  5  index      zset    selection index
  6  waiters    zset    waiting gets
  7  unit       list    the caller's unit of work
  8  expiry     zset    expiry times
  9  wake       list    the caller's own wake key
  10 journal    stream
  11 wake_base  base    keys that waiting connections block on
  12 groups     hash    what is there of groups
  13 members    zset    members of groups, by score
  14 locks      hash    what handles have locked
  15 marks      hash    message id -> holders of marks
  16 marks_base base    marks by holder
  17 handles    hash    open handles
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
            | 2219 CALL_IN_PROGRESS | 2003 BACKED_OUT ("=" only) | 2079 TRUNCATED_MSG_ACCEPTED | 2080 TRUNCATED_MSG_FAILED
            | 2024 SYNCPOINT_LIMIT_REACHED | 2200 MSG_MARKED_BROWSE_CO_OP | 2245 INCONSISTENT_UOW | 2247 MATCH_OPTIONS_ERROR | 2255 UOW_NOT_AVAILABLE
INVARIANTS  1 one state, 2 fencing, 5 position, 8 once
RIGHTS      asked by structure/attach
COST        O(messages in front of the one that fits), at most 2000 in one call; else as structure/get_grouped
USES        place, sources, waiting, unit_of_work, journal, locks, marks, selector
]]
is_chosen = true
local fits_selector, passes_over, leaps = selector_of(ARGV[34], tonumber(ARGV[35])), want.skips, want.leap
-- Pages of a leap, and messages in one: more are copied into the script at once only where none is long.
local LEAP_PAGES, LEAP_PAGE = 8, 250

function want.skips(id, score)
    if passes_over and passes_over(id, score) then return true end
    local record = redis.call("HGET", messages, id)
    return not (record and fits_selector(id, record))
end

-- A place up to which the selector is true of nothing.
function want.leap(key, from)
    if leaps then from = leaps(key, from) end
    if want.level > 0 or redis.call("HEXISTS", queue.q, "lg") == 1 then return from end
    for _ = 1, LEAP_PAGES do
        local found = redis.call(
            "ZRANGEBYSCORE", key, "(" .. string.format("%.0f", from), "+inf", "WITHSCORES", "LIMIT", 0, LEAP_PAGE
        )
        if #found == 0 then return from end
        local ids = {}
        for at = 1, #found, 2 do ids[#ids + 1] = found[at] end
        for at, record in ipairs(redis.call("HMGET", messages, unpack(ids))) do
            if record and fits_selector(ids[at], record) then return at > 1 and tonumber(found[2 * at - 2]) or from end
        end
        from = tonumber(found[#found])
        if #ids < LEAP_PAGE then return from end
    end
    return from, true
end
