--[[
structure/set_apart.lua - a unit of work is prepared: what it did here leaves its connection, and stands under its own id.

That it is prepared was decided in the administration structure (admin/prepare), after everything that it did was recorded.
So any registered caller may do this: its owner, the recoverer of that, or one that completes it.

KEYS
  1 own
  2  unit      list  the unit of work of its connection
  3  prepared  list  the same under its own id
  4 journal
ARGV
  1  caller       owner token of the caller
  2 unit_id, 3 journal_max
REPLY       { 0, 1 set apart or 0 that was done before } | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 3 one decision
COST        O(1)
USES        fence, journal
]]
if is_fenced(KEYS[1], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
if redis.call("LRANGE", KEYS[2], 0, 0)[1] ~= "A" .. ARGV[2] then return { 0, 0 } end
redis.call("RENAME", KEYS[2], KEYS[3])
journal(KEYS[4], ARGV[3], "e", "prepare", "o", ARGV[1], "u", ARGV[2])
return { 0, 1 }
