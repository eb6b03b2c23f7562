--[[
admin/complete.lua - every structure has applied what was decided about a prepared unit of work: it is in doubt no more.

That it ended, and how, is kept for the coordinator, which may ask again; of the latest only.

KEYS
  1 prepared, 2 completed, 3 tags
ARGV
  1  field    of prepared: manager or group, blank, external id
  2  unit_id
  3  ended    C or B as decided; M or R a structure, or all, had lost what the decided commit was about
  4  kept     how many that have ended are remembered
REPLY       { 0, how it has ended: as the one says who was the first to come here, "" that is forgotten }
REASONS     none
INVARIANTS  3 one decision, 6 sequence under failure
COST        O(log completed), and users of the tag
USES        membership, ended, tags
]]
local prepared, completed, tags, field = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local text = redis.call("HGET", prepared, field)
local unit = text and cjson.decode(text)
-- Somebody else may have completed it meanwhile.
if not unit or unit.unit ~= ARGV[2] or not unit.outcome then return { 0, how_ended(completed, field) or "" } end
redis.call("HDEL", prepared, field)
redis.call("ZADD", completed, now_ms(), ARGV[3] .. " " .. field)
redis.call("ZREMRANGEBYRANK", completed, 0, -1 - tonumber(ARGV[4]))
if unit.tag ~= "" then
    local users = redis.call("HGET", tags, unit.tag)
    set_users(tags, unit.tag, users_without(users, function(user) return user == unit.unit end))
end
return { 0, ARGV[3] }
