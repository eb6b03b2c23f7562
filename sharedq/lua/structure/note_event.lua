--[[
structure/note_event.lua - note something that an event message is to tell of, where the manager asks for such events.

A manager takes the notes (structure/take_events) and writes the event messages. Of notes that no manager takes the latest
thousand or so stay.

KEYS
  1  versions  hash    "EVENTS QM": a version, and the words for what that manager asks for
  2  events    stream  the notes
ARGV
  1  field     of versions
  2  word      what is noted only where it is among the words; "" always
  3.. fields of the note and their values
REPLY       1 noted, 0 not asked for
REASONS     none
INVARIANTS  4 bounded
MEMORY      refused when Redis is full
COST        O(fields)
]]
if ARGV[2] ~= "" then
    local said = redis.call("HGET", KEYS[1], ARGV[1])
    if not (said and string.find(said .. " ", "[: ]" .. ARGV[2] .. " ")) then return 0 end
end
redis.call("XADD", KEYS[2], "MAXLEN", "~", 1000, "*", unpack(ARGV, 3))
return 1
