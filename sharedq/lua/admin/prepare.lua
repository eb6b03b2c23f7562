--[[
admin/prepare.lua - an external coordinator has a unit of work prepared: write the one decision, that it is in doubt.

Every operation of the unit of work stands in its structure already, as for admin/decide. From here on the coordinator
alone ends it, or an operator in its place (admin/decide_prepared): the recoverer of its owner finds the decision.

A connection tag stays in use until the unit of work has ended: its users are then the owner and the unit of work.

KEYS
  1 fence, 2 decisions, 3 prepared, 4 completed, 5 tags, 6 group
  7  series     string  number of the latest batch of its series that was decided (see admin/decide_together)
  8 own
ARGV
  1 owner, 2 qmgr, 3 incarnation, 4 process, 5 unit_id
  6  field      of prepared: manager or group, blank, external id
  7  info       JSON object: the unit of work
  8  tag        "" or what the owner asked for (a letter) and tag
  9  batch      number of the batch that it belongs to; "" it belongs to no series
REPLY       { 0, its NID } | { 1, "P", or how it ended } the id was used: in doubt, or see prelude/ended
            | { 2 } that batch, or a later one, was decided without it | { reason }
REASONS     2009 CONNECTION_BROKEN
INVARIANTS  2 fencing, 3 one decision, 6 sequence under failure
COST        O(log completed), and users of the tag
USES        membership, ended
]]
local field, tag, USED, TOO_LATE = ARGV[6], ARGV[8], 1, 2
if not is_registered(KEYS[8], KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[1]) then return { MQRC.CONNECTION_BROKEN } end
if redis.call("HEXISTS", KEYS[3], field) == 1 then return { USED, "P" } end
local ended = how_ended(KEYS[4], field)
if ended then return { USED, ended } end

local latest = ARGV[9] ~= "" and redis.call("GET", KEYS[7])
if latest and tonumber(latest) >= tonumber(ARGV[9]) then return { TOO_LATE } end

local nid = string.format("%s.%012X", ARGV[2], redis.call("HINCRBY", KEYS[6], "nid", 1))
local head = string.format('{"nid":"%s","prepared_ms":%.0f,', nid, now_ms())
redis.call("HSET", KEYS[3], field, head .. string.sub(ARGV[7], 2))
redis.call("HSET", KEYS[2], ARGV[5], "=" .. field)
if tag ~= "" then
    local letter, name = string.sub(tag, 1, 1), string.sub(tag, 2)
    local users = redis.call("HGET", KEYS[5], name)
    redis.call("HSET", KEYS[5], name, (users and users .. " " or "") .. letter .. ARGV[5])
end
return { 0, nid }
