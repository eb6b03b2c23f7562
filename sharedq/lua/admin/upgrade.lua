--[[
admin/upgrade.lua - record a later format of the key space, unless somebody is registered who does not speak it.

KEYS
  1  group      hash  "format"
  2 members, 3 leases, 4 processes
ARGV
  1  expected  the format that the change was made from, "" for none recorded
  2  format    the later one
REPLY       { 0 } | { 1, incarnation or process that does not speak it } | { 2, format in force or "" }
REASONS     none
INVARIANTS  none
COST        O(members and programs), once for each format
]]
local IN_THE_WAY, CHANGED = 1, 2
local known = redis.call("HGET", KEYS[1], "format") or ""
if known ~= ARGV[1] then return { CHANGED, known } end
for _, lease in ipairs(redis.call("ZRANGE", KEYS[3], 0, -1)) do
    -- A recovery's claim is an incarnation or a process, too; its target is of the format that it had.
    local token = string.gsub(lease, "^!", "")
    local qmgr = string.match(token, "^([^.]+)%.%d+$")
    local info = qmgr and redis.call("HGET", KEYS[2], qmgr) or redis.call("HGET", KEYS[4], token)
    local formats = info and cjson.decode(info).formats
    if (formats and formats[2] or 1) < tonumber(ARGV[2]) then return { IN_THE_WAY, token } end
end
redis.call("HSET", KEYS[1], "format", ARGV[2])
return { 0 }
