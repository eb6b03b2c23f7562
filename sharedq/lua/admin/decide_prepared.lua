--[[
admin/decide_prepared.lua - what becomes of a prepared unit of work: write it down, before any structure applies it.

The caller is noted: if it dies before every structure has applied the decision, its recovery does the rest. If another
caller tells the same decision again, that one is noted.

KEYS
  1 fence, 2 prepared, 3 completed, 4 members, 5 leases, 6 own
ARGV
  1  caller
  2  qmgr         of the caller
  3 incarnation, 4 process
  5  unit_qmgr    whose it is: the manager at which it was prepared, or the group, which any member speaks for
  6  field        of prepared: manager or group, blank, external id
  7  outcome      C commit, B back out
REPLY       { 0, JSON of the unit of work } | { 1, how } it has ended (see prelude/ended), or was decided otherwise
            | { 2 } no such id | { 3 } another manager's, which is running | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 3 one decision
COST        O(log completed + log members)
USES        membership, ended
]]
local prepared, field, outcome = KEYS[2], ARGV[6], ARGV[7]
local ENDED, UNKNOWN, RUNNING = 1, 2, 3
if not is_registered(KEYS[6], KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
local text = redis.call("HGET", prepared, field)
local unit = text and cjson.decode(text)
local ended = not unit and how_ended(KEYS[3], field)
if not unit and not ended then return { UNKNOWN } end
if unit and ARGV[5] ~= ARGV[2] then
    local member = redis.call("HGET", KEYS[4], ARGV[5])
    local deadline = member
        and redis.call("ZSCORE", KEYS[5], ARGV[5] .. "." .. string.format("%d", cjson.decode(member).incarnation))
    if deadline and tonumber(deadline) > now_ms() then return { RUNNING } end
end
if unit and unit.outcome and unit.outcome ~= outcome then return { ENDED, unit.outcome } end
if ended then
    note_again(KEYS[3], field, ended)
    return { ENDED, ended }
end
unit.outcome, unit.by = outcome, ARGV[1]
text = cjson.encode(unit)
redis.call("HSET", prepared, field, text)
return { 0, text }
