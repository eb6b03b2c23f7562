--[[
Members: messages in a group, and segments. The index tells which of them are available, so that completeness is known
without looking at them all.

Available members are not in `a`. They stand in `r`, by score, and in the index, each kind after a letter:
  c CorrelId + place                  as `C` has it for other messages
  L GroupId + MsgSeqNumber + place    segments of a logical message
  S MsgSeqNumber + place
  F level + place, f level + CorrelId + place   first items (MsgSeqNumber 1, Offset 0): level 2 where the whole group
                                      is there, 1 where the logical message is, else 0; of more at that position, the
                                      first by place has this level, the others have that of a group that is not there
  h place                             items at Offset 0 whose logical message is there: whole messages, and the first
                                      segment, by place, at that position
  w place                             the first segment, by place, of a segmented logical message that is there
  K place of its first member + GroupId   complete groups
  E GroupId + expiry time + place     members that expire
  T GroupId + MsgSeqNumber + type + Offset + place   reports about segments
  Z GroupId + MsgSeqNumber + Offset   last messages of a group
  Y GroupId + MsgSeqNumber + end + Offset   last segments of a logical message, and where it ends by them; U with the type
                                      after MsgSeqNumber: of reports about segments
The hash `g` counts, for a GroupId, how many of its logical messages are complete, and has the number of the last (0:
it is not there); for GroupId + MsgSeqNumber of segments the bytes there, and the bytes in all (-1: the last segment
is not there), and the same for GroupId + MsgSeqNumber + type of reports about segments: those are there together when
one of any type is there for each segment, but put together by type. Of members with the same GroupId, MsgSeqNumber and
Offset (and type, for reports) the first by place counts.
USES record
]]
local SEGMENT, LAST_SEGMENT, IN_GROUP, LAST_IN_GROUP = 2, 4, 8, 16
-- The agent takes messages from there by their place alone, whatever they belong to. Each part is called so, with or
-- without its manager.
local function is_transmit_queue(queue)
    return string.match(queue.name, "^[^@]*") == "SYSTEM.QSG.TRANSMIT.QUEUE"
end

-- The ids that the message with this number can have on the queue: with the look mark or not, and with the code of this
-- queue or none. On its way it has the code of its destination, and stands under its number in one of ten priorities.
local function ids_of_number(queue, number)
    local code, ids = redis.call("HGET", queue.q, "code"), { number, number .. "x" }
    if code then ids[3], ids[4] = number .. "." .. code, number .. "." .. code .. "x" end
    if is_transmit_queue(queue) then
        for priority = 0, 9 do
            local score = string.format("%.0f", priority * 2 ^ 48 + number)
            local found = redis.call("ZRANGEBYSCORE", queue.a, score, score, "LIMIT", 0, 1)
            ids[#ids + 1] = found[1]
        end
    end
    return ids
end

local function is_member(queue, record)
    if not has(record, GROUP) or is_transmit_queue(queue) then return false end
    local _, _, at = identifier_offsets(record)
    local flags = struct.unpack(">I4", record, at + 32)
    return bit.band(flags, SEGMENT + LAST_SEGMENT + IN_GROUP + LAST_IN_GROUP) ~= 0
end

-- The numbers that begin the tail of a member's record (see sharedq/messages/record.py), each in four bytes, "" for the
-- usual value: version, report options, MsgType, Feedback, Encoding, CodedCharSetId. `at` is where the tail's predecessor, the
-- GroupId with what belongs to it, ends. The latest are kept, because all segments of a message have the same.
local latest_tail, latest_numbers = nil, nil
local function tail_numbers(record, at)
    local MASK_AND_NUMBERS = 28
    if has(record, DESTINATION) then at = at + 1 + string.byte(record, at) end
    at = at + 6
    at = at + 1 + string.byte(record, at)
    local tail = string.sub(record, at, at + MASK_AND_NUMBERS - 1)
    if tail == latest_tail then return latest_numbers end
    local mask, texts = struct.unpack(">I4", tail), {}
    at = 5
    for position = 1, 6 do
        texts[position] = ""
        if bit.band(mask, 2 ^ (position - 1)) ~= 0 then
            texts[position] = string.sub(tail, at, at + 3)
            at = at + 4
        end
    end
    latest_tail, latest_numbers = tail, texts
    return texts
end

-- Type of a report, in four bytes; nil for any other message. Exceptions tell their reason in Feedback, and are one type.
local function report_type(numbers)
    local REPORT, APPLICATION_FIRST = 4, 65536
    if numbers[3] == "" or struct.unpack(">i4", numbers[3]) ~= REPORT then return nil end
    -- MQFB_EXPIRATION, COA, COD, ACTIVITY, PAN, NAN
    local TYPES = { [258] = true, [259] = true, [260] = true, [269] = true, [275] = true, [276] = true }
    local feedback = numbers[4] ~= "" and struct.unpack(">i4", numbers[4]) or 0
    if not (TYPES[feedback] or feedback >= APPLICATION_FIRST) then feedback = 0 end
    return struct.pack(">i4", feedback)
end

local function member_of(record)
    local GROUP_BYTES = 40
    local _, _, at = identifier_offsets(record)
    local seq, offset, flags, length = struct.unpack(">I4I4I4i4", record, at + 24)
    local is_segment = bit.band(flags, SEGMENT + LAST_SEGMENT) ~= 0
    local numbers = is_segment and tail_numbers(record, at + GROUP_BYTES)
    local of_type = is_segment and report_type(numbers)
    return {
        numbers = numbers,
        -- Of a report about a segment: its logical message, and its type.
        of_type = of_type and string.sub(record, at, at + 27) .. of_type or nil,
        group = string.sub(record, at, at + 23),
        message = string.sub(record, at, at + 27),
        seq = seq,
        offset = offset,
        -- A report about a segment takes up the place of that segment, whatever it carries of it.
        length = length >= 0 and length or #record - body_offset(record),
        is_segment = is_segment,
        is_last_segment = bit.band(flags, LAST_SEGMENT) ~= 0,
        -- A segmented message that is in no group is a group of one.
        is_last = bit.band(flags, LAST_IN_GROUP) ~= 0 or bit.band(flags, IN_GROUP) == 0,
        is_first = seq == 1 and offset == 0,
    }
end

-- One function where plain messages pay for one; those in it are made where members are met.
local function groups_of(queue, messages)
    local FIRST_NUMBER, FIRST = struct.pack(">I4", 1), struct.pack(">I4I4", 1, 0)

    local function two_numbers(text, first, second)
        if not text then return first, second end
        local one, other = string.match(text, "^(%S+) (%S+)$")
        return tonumber(one), tonumber(other)
    end

    -- Whether no member of a group has a higher MsgSeqNumber: then as many as that are all of them.
    local function is_nothing_after(group, seq)
        local low = "[G" .. group .. struct.pack(">I4", seq + 1)
        return #redis.call("ZRANGEBYLEX", queue.i, low, "(G" .. group .. "\255", "LIMIT", 0, 1) == 0
    end

    -- As the hash has it.
    local function counted(member)
        local texts = redis.call("HMGET", queue.g, member.group, member.message, member.group .. FIRST_NUMBER)
        local now = {}
        now.complete, now.last = two_numbers(texts[1], 0, 0)
        now.there, now.all = two_numbers(texts[2], 0, -1)
        now.first_there, now.first_all = two_numbers(texts[3], 0, 0)
        -- A whole message may stand where a segment does: then both are there, and the first by place counts.
        now.is_segmented = now.all >= 0 and now.there == now.all
        now.is_message = not member.is_segment or now.is_segmented
        return now
    end

    local function standing(member)
        local now = counted(member)
        now.is_group = now.last > 0 and now.complete == now.last and is_nothing_after(member.group, now.last)
        -- Of first items that are segments: a whole message is there in any case (own_level).
        now.level = now.is_group and 2 or now.first_there == now.first_all and 1 or 0
        return now
    end

    local function keep(field, first, second, none)
        if first == 0 and second == none then
            redis.call("HDEL", queue.g, field)
        else
            redis.call("HSET", queue.g, field, first .. " " .. second)
        end
    end

    -- Entries after a prefix, in order: places as texts, scores and ids.
    local function entries(prefix, limit)
        local found = redis.call("ZRANGEBYLEX", queue.i, "[" .. prefix, "(" .. prefix .. "\255", "LIMIT", 0, limit)
        for at, entry in ipairs(found) do
            local place = string.sub(entry, #prefix + 1)
            local score, id = struct.unpack(">I7", place), string.sub(place, 1 + ORDER_BYTES)
            found[at] = { place = place, score = score, id = id ~= "" and id or usual_id(score) }
        end
        return found
    end

    local function list(step, entry)
        if step == 1 then redis.call("ZADD", queue.i, 0, entry) else redis.call("ZREM", queue.i, entry) end
    end

    -- Where a group or a logical message ends, as a member says that comes or goes. Where more than one says so, because a
    -- GroupId is used again or by mistake, the farthest counts, and without it the next one. `none`: nobody says it.
    local function end_of(step, prefix, number, offset, known, none)
        list(step, prefix .. struct.pack(">I4I4", number, offset))
        if step == 1 then return math.max(known, number) end
        if known ~= number then return known end
        local entry = redis.call("ZREVRANGEBYLEX", queue.i, "(" .. prefix .. "\255", "[" .. prefix, "LIMIT", 0, 1)[1]
        return entry and struct.unpack(">I4", entry, #prefix + 1) or none
    end

    local function end_of_message(step, prefix, member, known)
        if not member.is_last_segment then return known end
        return end_of(step, prefix, member.offset + member.length, member.offset, known, -1)
    end

    -- Segments of one logical message, or one message that is none.
    local function count(members, step)
        local member = members[1]
        local now = counted(member)
        local complete, last = now.complete, now.last
        if member.is_segment then
            local there, all = now.there, now.all
            for _, each in ipairs(members) do
                there = there + step * each.length
                all = end_of_message(step, "Y" .. each.message, each, all)
            end
            keep(member.message, there, all, -1)
            local is_message = all >= 0 and there == all
            if is_message and not now.is_message then complete = complete + 1 end
            if now.is_message and not is_message then complete = complete - 1 end
        else
            complete = complete + step
        end
        for _, each in ipairs(members) do
            if each.is_last and (not each.is_segment or each.is_last_segment) then
                last = end_of(step, "Z" .. each.group, each.seq, each.offset, last, 0)
            end
        end
        keep(member.group, complete, last, 0)
    end

    local function is_type_there(member)
        local there, all = two_numbers(redis.call("HGET", queue.g, member.of_type), 0, -1)
        return all >= 0 and there == all
    end

    local function count_of_type(members, step)
        local of_type = members[1].of_type
        local there, all = two_numbers(redis.call("HGET", queue.g, of_type), 0, -1)
        for _, each in ipairs(members) do
            there, all = there + step * each.length, end_of_message(step, "U" .. of_type, each, all)
        end
        keep(of_type, there, all, -1)
    end

    local function list_group(step, member)
        local first = entries("H" .. member.group, 1)[1]
        list(step, "K" .. struct.pack(">I7", first.score) .. member.group)
    end

    local function list_message(step, member)
        local head = entries("G" .. member.message .. struct.pack(">I4", 0), 1)[1]
        -- A whole message has that entry anyhow.
        if head and redis.call("ZSCORE", queue.i, "L" .. member.message .. head.place) then list(step, "h" .. head.place) end
        list(step, "w" .. entries("L" .. member.message, 1)[1].place)
    end

    local function own_level(level, member)
        return level == 0 and not member.is_segment and 1 or level
    end

    -- The entries of a first item at a level.
    local function first_entries(level, place, record)
        local correl = identifier_offsets(record)
        return "F" .. level .. place, correl and "f" .. level .. string.sub(record, correl, correl + 23) .. place
    end

    local function list_first(level, place, record)
        local by_place, by_correl = first_entries(own_level(level, member_of(record)), place, record)
        INLINE.index_entries(queue.i, { by_place, by_correl or nil })
    end

    -- A first item leaves the list of its level, and no other list has the item.
    local function unlist_first(place, record)
        local found = {}
        for level = 0, 2 do
            local by_place, by_correl = first_entries(level, place, record)
            found[#found + 1] = by_place
            if by_correl then found[#found + 1] = by_correl end
        end
        redis.call("ZREM", queue.i, unpack(found))
    end

    local function list_first_anew(level, first)
        local record = redis.call("HGET", messages, first.id)
        unlist_first(first.place, record)
        list_first(level, first.place, record)
    end

    -- `is_short`: without "G" and "L".
    local function entries_of(found, item, is_short)
        local member, record, place = item.member, item.record, item.place
        index_members(found, record, place, "c", is_short)
        found[#found + 1] = "S" .. struct.pack(">I4", member.seq) .. place
        if member.is_segment then
            if not is_short then found[#found + 1] = "L" .. member.message .. place end
            if member.of_type then
                found[#found + 1] = "T" .. member.of_type .. struct.pack(">I4", member.offset) .. place
            end
        elseif member.offset == 0 then
            found[#found + 1] = "h" .. place
        end
        if has(record, EXPIRY) then
            found[#found + 1] = "E" .. member.group .. struct.pack(">I8", expiry_ms(record)) .. place
        end
    end

    local function range_of(run, prefix)
        local function at(item) return prefix .. struct.pack(">I4", item.member.offset) end
        return "[" .. at(run[1]), "(" .. at(run[#run]) .. "\255"
    end

    -- In pieces: Lua passes some thousand arguments at most, and a member has up to nine entries.
    local function index(step, run, is_alone_there)
        local PIECE, message = 200, run[1].member.message
        -- The entries of a whole logical message that goes are all there is under some prefixes.
        local is_short = step == -1 and is_alone_there
            and redis.call("ZLEXCOUNT", queue.i, "[L" .. message, "(L" .. message .. "\255") == #run
        if is_short then
            redis.call("ZREMRANGEBYLEX", queue.i, range_of(run, "G" .. message))
            redis.call("ZREMRANGEBYLEX", queue.i, "[L" .. message, "(L" .. message .. "\255")
        end
        for from = 1, #run, PIECE do
            local found, places = {}, {}
            for at = from, math.min(from + PIECE - 1, #run) do
                entries_of(found, run[at], is_short)
                if step == 1 then places[#places + 1] = run[at].score end
                places[#places + 1] = run[at].id
            end
            if step == 1 then
                INLINE.index_entries(queue.i, found)
                redis.call("ZADD", queue.r, unpack(places))
            else
                redis.call("ZREM", queue.i, unpack(found))
                redis.call("ZREM", queue.r, unpack(places))
            end
        end
        redis.call("HINCRBY", queue.q, "gm", step * #run)
    end

    -- Whether nothing else is at the positions of a run, nor between them.
    local function is_alone(step, run, prefix)
        return redis.call("ZLEXCOUNT", queue.i, range_of(run, prefix)) == (step == 1 and 0 or #run)
    end

    local function add_all(members, step, add)
        local segments = {}
        for _, member in ipairs(members) do
            if member.is_segment then segments[#segments + 1] = member else add({ member }, step) end
        end
        if #segments > 0 then add(segments, step) end
    end

    -- Of those at one position the first counts: one that comes in front of it counts instead, and so does the next one
    -- after it has left. Adds to `next_ones` those that count from now on where others have left. Returns whether a run of
    -- some was alone there, whether the first of the run counts, and the one that counts without it.
    local function recount(step, run, prefix, add, next_ones)
        local going, coming, does_first_count, instead = {}, {}, nil, nil
        local is_simple = #run > 1 and is_alone(step, run, prefix)
        local its_own, others = step == -1 and going or coming, step == -1 and coming or going
        for at, item in ipairs(run) do
            local equals = is_simple and {} or entries(prefix .. struct.pack(">I4", item.member.offset), 2)
            local counts, other = true, equals[1]
            if step == -1 and other then
                counts, other = other.id == item.id, equals[2]
            elseif other then
                counts = item.score < other.score
            end
            if at == 1 then does_first_count, instead = counts, other end
            if counts then
                its_own[#its_own + 1] = item.member
                if other then
                    others[#others + 1] = member_of(redis.call("HGET", messages, other.id))
                    if step == -1 then next_ones[#next_ones + 1] = other end
                end
            end
        end
        add_all(going, -1, add)
        add_all(coming, 1, add)
        return is_simple, does_first_count, instead
    end

    -- Lists the first items of a group anew where a run of it has come or gone.
    local function list_firsts(step, item, does_count, instead, before, after)
        local level = does_count and after.level or 0
        if item.member.is_first and step == -1 then unlist_first(item.place, item.record) end
        if item.member.is_first and does_count then
            if instead then list_first_anew(step == -1 and after.level or 0, instead) end
        elseif after.level ~= before.level then
            local head = entries("G" .. item.member.group .. FIRST, 1)[1]
            if head then list_first_anew(after.level, head) end
        end
        if item.member.is_first and step == 1 then list_first(level, item.place, item.record) end
        return level
    end

    -- A run comes (step 1) or goes (step -1): segments of one logical message in the order of their offsets, or one member.
    -- Notes the levels at which first items of the group are new, and where it went the members that count in its place,
    -- or one that begins what is complete without it.
    local function change_run(step, run, next_ones)
        local item, member, known = run[1], run[1].member, #next_ones
        local before = standing(member)
        if before.is_group then list_group(-1, member) end
        if before.is_segmented then list_message(-1, member) end
        local is_alone_there, does_count, instead = recount(step, run, "G" .. member.message, count, next_ones)
        local is_new_of_type = false
        if member.of_type then
            local was_there = is_type_there(member)
            recount(step, run, "T" .. member.of_type, count_of_type, next_ones)
            is_new_of_type = not was_there and is_type_there(member)
        end
        index(step, run, is_alone_there)
        local after = standing(member)
        if after.is_group then list_group(1, member) end
        if after.is_segmented then list_message(1, member) end
        local first_level = list_firsts(step, item, does_count, instead, before, after)
        if step == -1 and #next_ones == known then
            local is_new_message = after.is_segmented and not before.is_segmented or is_new_of_type
            local begins = after.level > before.level and member.group .. FIRST
                or is_new_message and member.message .. struct.pack(">I4", 0)
            next_ones[#next_ones + 1] = begins and entries("G" .. begins, 1)[1] or nil
        end
        -- As if they had come one by one, and the last of them had made complete what is complete.
        if member.is_first then item.level = own_level(#run > 1 and does_count and before.level or first_level, member) end
        if not member.is_first or #run > 1 then
            run[#run].level = (after.level > before.level or is_new_of_type) and after.level or -1
        end
    end

    -- The segments that follow the one at a place of the list in its logical message, with it, as long as they are in order.
    local function run_from(items, from)
        local run = { items[from] }
        local first = items[from].member
        for at = from + 1, first.is_segment and #items or 0 do
            local member = items[at].member
            local is_next = member.is_segment and member.message == first.message and member.of_type == first.of_type
            if not is_next or member.offset <= items[at - 1].member.offset then break end
            run[#run + 1] = items[at]
        end
        return run
    end

    -- Members come (step 1) or go (step -1): tables with id, score and record, and if they are known with `member` (member_of)
    -- and `place` (place_text). Each gets the `level` at which first items of its group are new, or -1. Returns where they
    -- went the members that count in their places, or that begin what is complete without them.
    local function change(step, items)
        for _, item in ipairs(items) do
            item.member, item.level = item.member or member_of(item.record), -1
            item.place = item.place or place_text(item.score, item.id)
        end
        local from, next_ones = 1, {}
        while from <= #items do
            local run = run_from(items, from)
            change_run(step, run, next_ones)
            from = from + #run
        end
        return next_ones
    end

    -- Whether the logical message of a member can be put together: of reports all of its type must be there.
    local function is_whole(member)
        return not member.of_type or is_type_there(member)
    end

    -- How much is there of what a member belongs to: 2 the whole group, 1 its logical message, 0 neither.
    local function level(member)
        local now = standing(member)
        return now.is_group and 2 or now.is_message and 1 or 0
    end

    -- A member of this group that has expired, or nil: it still counts for completeness, and must go first.
    local function expired_one(group)
        local prefix = "E" .. group
        local entry = redis.call("ZRANGEBYLEX", queue.i, "[" .. prefix, "(" .. prefix .. "\255", "LIMIT", 0, 1)[1]
        if not entry or struct.unpack(">I8", entry, #prefix + 1) > now_ms() then return nil end
        local score, id = struct.unpack(">I7", entry, #prefix + 9), string.sub(entry, #prefix + 9 + ORDER_BYTES)
        if id == "" then id = usual_id(score) end
        return { id = id, score = score, record = redis.call("HGET", messages, id) }
    end

    return { change = change, level = level, is_whole = is_whole, entries = entries, expired_one = expired_one }
end
