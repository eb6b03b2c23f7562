--[[
admin/define_object.lua - make an object visible to the group, or change what is kept of it in the directory.

A name is shared, or it belongs to managers one by one, never both: which of the two is decided here, in one place.
The version that an entry gets is never used again in this group, whatever happens to the object.

KEYS
  1 group, 2 directory, 3 structures, 4 members
  5  fence       hash  dead incarnations, processes and connections; this and what follows only with a caller
  6 own
ARGV
  1  scope      S shared, G group, P private
  2  qmgr       "" or the manager of a private object
  3  name
  4  kind       QLOCAL, QALIAS, QREMOTE, QMODEL
  5  structure  "" or the structure that holds the queue
  6  mode       new: must not exist | adopt: may exist as the same queue of the same structure | replace: may exist
                as the same kind | alter: must exist in version `expected`
  7  expected   version, for alter
  8  body       the entry: JSON object without its version
  9  caller     owner token of the connection whose MQOPEN of a model this is; absent for a command
REPLY       { 0, version } | { 1, entry in force } altered meanwhile | { reason, entry in the way or "" }
REASONS     2009 CONNECTION_BROKEN | 2100 OBJECT_ALREADY_EXISTS | 2343 OBJECT_NOT_UNIQUE | 2349 CF_STRUC_ERROR | 2057 Q_TYPE_ERROR
            | 2085 UNKNOWN_OBJECT_NAME
INVARIANTS  2 fencing (of the caller)
MEMORY      refused when Redis is full
COST        O(managers) for a shared object, else O(1)
USES        recoverer
]]
local group, directory, structures, members = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local scope, qmgr, name, kind, structure = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local mode, expected, body = ARGV[6], ARGV[7], ARGV[8]
local CHANGED = 1
local caller = ARGV[9]
if caller and is_shut_out(KEYS[6], KEYS[5], caller, "") then
    return { MQRC.CONNECTION_BROKEN, "" }
end

local field = scope .. " " .. name
if scope == "P" then field = "P " .. qmgr .. " " .. name end
local known = redis.call("HGET", directory, field)
local entry = known and cjson.decode(known)

if mode == "alter" then
    if not entry then return { MQRC.UNKNOWN_OBJECT_NAME, "" } end
    if string.format("%d", entry.version) ~= expected then return { CHANGED, known } end
elseif entry then
    if entry.kind ~= kind then return { MQRC.Q_TYPE_ERROR, known } end
    if mode == "new" then return { MQRC.OBJECT_ALREADY_EXISTS, known } end
    if (entry.structure or "") ~= structure then return { MQRC.OBJECT_ALREADY_EXISTS, known } end
end

if scope == "S" then
    for _, manager in ipairs(redis.call("HKEYS", members)) do
        local private = redis.call("HGET", directory, "P " .. manager .. " " .. name)
        if private then return { MQRC.OBJECT_NOT_UNIQUE, private } end
    end
    local copied = redis.call("HGET", directory, "G " .. name)
    if copied then return { MQRC.OBJECT_NOT_UNIQUE, copied } end
else
    local shared = redis.call("HGET", directory, "S " .. name)
    if shared then return { MQRC.OBJECT_NOT_UNIQUE, shared } end
end
if structure ~= "" then
    if redis.call("HEXISTS", structures, structure) == 0 then return { MQRC.CF_STRUC_ERROR, "" } end
    if not entry then redis.call("HINCRBY", group, "queues " .. structure, 1) end
end

local version = redis.call("HINCRBY", group, "definition", 1)
redis.call("HSET", directory, field, '{"version":' .. version .. "," .. string.sub(body, 2))
return { 0, version }
