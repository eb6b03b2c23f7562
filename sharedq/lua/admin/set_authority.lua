--[[
admin/set_authority.lua - give a user authorities to the queues of a profile, or take some away.

KEYS
  1 group, 2 authorities
ARGV
  1  field    profile, newline, user
  2  added    authorities separated by blanks
  3  removed  the same
REPLY       { 0, version } the version of all authorities: none before it is in force when every structure knows it
REASONS     none
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(authorities of one record)
]]
local field, added, removed = ARGV[1], ARGV[2], ARGV[3]
local goes = {}
for word in string.gmatch(removed, "%S+") do goes[word] = true end
local kept = {}
for word in string.gmatch((redis.call("HGET", KEYS[2], field) or "") .. " " .. added, "%S+") do
    if not goes[word] then
        kept[#kept + 1] = word
        goes[word] = true
    end
end
table.sort(kept)
redis.call("HSET", KEYS[2], field, table.concat(kept, " "))
return { 0, redis.call("HINCRBY", KEYS[1], "definition", 1) }
