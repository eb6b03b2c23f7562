--[[
structure/backup_page.lua - the next persistent messages on a queue, by place, for a backup. Reads only.

A message that a browsing handle has locked in the meantime is where it was: in one moment each message of the stretch
is either available or locked.

KEYS
  1  set       zset  ids by score: available ones, or members of groups
  2 locks, 3 messages
ARGV
  1  after    score after which to read
  2  arrival  the last arrival to read: the journal tells of later ones, and a busy queue has no end
  3  count    messages of the set, at most
  4  bytes    of records, after which the page ends
REPLY       { score up to which was read, or "" where that is all; id, score, record of each }
REASONS     none
INVARIANTS  4 bounded
COST        O(count + handles with locks), and `bytes` and one message
USES        record
]]
local after, arrival, count, bytes_max = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local LEVELS = 10
local bytes, upto, reply, read = 0, nil, { "" }, 0

local function add(id, score)
    local record = redis.call("HGET", KEYS[3], id)
    if record and has(record, PERSISTENT) then
        reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = id, string.format("%.0f", score), record
    end
    bytes = bytes + (record and #record or 0)
end

local from = after
for level = math.floor(after / CONST.PRIORITY_STEP), LEVELS - 1 do
    local entries = redis.call(
        "ZRANGEBYSCORE", KEYS[1], string.format("(%.0f", from), string.format("%.0f", level * CONST.PRIORITY_STEP + arrival),
        "WITHSCORES", "LIMIT", 0, count - read
    )
    for position = 1, #entries, 2 do
        local score = tonumber(entries[position + 1])
        add(entries[position], score)
        read = read + 1
        if bytes >= bytes_max or read == count then
            upto = score
            break
        end
    end
    if upto then break end
    from = (level + 1) * CONST.PRIORITY_STEP
end
if upto then reply[1] = string.format("%.0f", upto) end
for _, text in ipairs(redis.call("HVALS", KEYS[2])) do
    for id, score in string.gmatch(text, "(%S+):(%d+)") do
        local at = tonumber(score)
        if at > after and (not upto or at <= upto) then add(id, at) end
    end
end
return reply
