--[[
admin/define_topic.lua - define, alter or delete an administrative topic. Its topic string belongs to no other one.

KEYS
  1 group, 2 topics
ARGV
  1  name
  2  mode      new: must not exist | replace: may exist | alter, delete: must exist in version `expected`
  3  expected  version
  4  body      the topic: JSON object without its version; not for delete
REPLY       { 0, version } | { 1, topic in force } altered meanwhile | { reason, name of the topic in the way or "" }
REASONS     2100 OBJECT_ALREADY_EXISTS | 2085 UNKNOWN_OBJECT_NAME | 2425 TOPIC_STRING_ERROR (it belongs to another)
INVARIANTS  none
MEMORY      refused when Redis is full
COST        O(topics)
]]
local group, topics = KEYS[1], KEYS[2]
local name, mode, expected, body = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local CHANGED = 1
local known = redis.call("HGET", topics, name)
if mode == "alter" or mode == "delete" then
    if not known then return { MQRC.UNKNOWN_OBJECT_NAME, "" } end
    if string.format("%d", cjson.decode(known).version) ~= expected then return { CHANGED, known } end
elseif known and mode == "new" then
    return { MQRC.OBJECT_ALREADY_EXISTS, name }
end
if mode ~= "delete" then
    local wanted = cjson.decode(body).topic_string
    for _, text in ipairs(redis.call("HVALS", topics)) do
        local other = cjson.decode(text)
        if other.name ~= name and other.topic_string == wanted then
            return { MQRC.TOPIC_STRING_ERROR, other.name }
        end
    end
end
local version = redis.call("HINCRBY", group, "definition", 1)
redis.call("HSET", group, "topics", version)
if mode == "delete" then
    redis.call("HDEL", topics, name)
else
    redis.call("HSET", topics, name, '{"version":' .. version .. "," .. string.sub(body, 2))
end
return { 0, version }
