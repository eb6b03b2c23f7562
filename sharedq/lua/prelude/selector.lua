--[[
A selector: a condition on the descriptors and properties of messages, which MQOPEN has made of a selection string. The tree
is that of sharedq/selectors/parser.py, as JSON; `evaluation.py` beside it says the same in Python, and a test compares them.
Unknown is nil. A byte string is a table with its hexadecimal digits, so that it equals no text.
Properties stand in MQRFH2 headers in front of the data; folders are read if their NameValueCCSID is one of Unicode, or 819.
USES record
]]
-- Returns a function that tells of a message, by its id and its record, whether the condition is true. `structure` is the
-- number of the structure, for a MsgId that igq generated.
local function selector_of(text, structure)
    local NULL_ID, HEADER_LENGTH, MOST_HEADERS = string.rep("0", 48), 36, 100
    local ANY_CHARACTER = "[%z\1-\127\194-\244][\128-\191]*"
    local TAG = "<(/?)([^%s<>/=&'\"!?]+)([^<>]*)>"
    local ROOT = "^[ \t\r\n%z]*<([^%s<>/=&'\"!?]+)([^<>]*)>"
    -- Of a header: "RFH " in ASCII and in EBCDIC, low byte first, and its Version.
    local ASCII_ID, EBCDIC_ID, VERSION = 541607506, 1086899929, 2
    local ENTITIES = { lt = "<", gt = ">", amp = "&", quot = "\"", apos = "'" }
    -- Types that JMS does not write, because each of these has its own.
    local IMPLIED = { Exp = "i8", Tms = "i8", Pri = "i4", Dlv = "i4", Seq = "i4" }
    local WHOLE = { i1 = true, i2 = true, i4 = true, i8 = true, int = true }
    local HAS_PROPERTIES = {}
    for name in string.gmatch(
        "usr mq_usr mcd jms mqext mq mqps mqtt mqema mq_svc ibm sib sib_usr sib_context", "%S+"
    ) do
        HAS_PROPERTIES[name] = true
    end
    -- The message that is looked at; its folders are read when the first property is asked for.
    local id, record, folders

    local function hex(bytes)
        return { (string.gsub(bytes, ".", function(byte) return string.format("%02x", string.byte(byte)) end)) }
    end

    -- The descriptor --------------------------------------------------------------------------------------------------

    local TAIL = {}
    for name, size in string.gmatch(
        "Version 0 Report 0 MsgType 0 Feedback 0 Encoding 0 CodedCharSetId 0 Format 1 ReplyToQ 1 ReplyToQMgr 1 "
            .. "UserIdentifier 1 AccountingToken 1 ApplIdentityData 1 PutApplType 0 PutApplName 1 ApplOriginData 1 "
            .. "OriginalLength 0 PutDate 1 PutTime 1 MsgSeqNumber 0 Offset 0 MsgFlags 0 Priority 0 ",
        "(%w+) (%d) "
    ) do
        TAIL[#TAIL + 1] = { name = name, is_text = size == "1" }
    end
    local USUAL = {
        Version = 1, Report = 0, MsgType = 8, Feedback = 0, Encoding = 546, CodedCharSetId = 1208, PutApplType = 0,
        OriginalLength = -1, MsgSeqNumber = 1, Offset = 0, MsgFlags = 0, Priority = 0,
    }
    -- Most messages have the same fields there. A message's own time stands in front of them.
    local tails = {}

    local function put_time_at()
        -- Most often nothing stands in front of it.
        if string.byte(record, 1) <= PERSISTENT then return 6 end
        local correl, msgid, group = identifier_offsets(record)
        local at = 6
        if has(record, EXPIRY) then at = at + 8 end
        if correl then at = at + 24 end
        if msgid then at = at + 24 end
        if group then at = at + 40 end
        return has(record, DESTINATION) and at + 1 + string.byte(record, at) or at
    end

    local function read_tail(tail)
        local length = string.byte(tail, 1)
        local fields, mask, at = { origin = string.sub(tail, 2, 1 + length) }, struct.unpack(">I4", tail, 2 + length)
        for position, field in ipairs(TAIL) do
            fields[field.name] = field.is_text and "" or USUAL[field.name]
            if bit.band(mask, 2 ^ (position - 1)) ~= 0 then
                if field.is_text then
                    local size = string.byte(tail, at)
                    fields[field.name] = string.sub(tail, at + 1, at + size)
                    at = at + 1 + size
                else
                    fields[field.name] = struct.unpack(">i4", tail, at)
                    at = at + 4
                end
            end
        end
        return fields
    end

    local function tail_of()
        local tail = string.sub(record, put_time_at() + 6, body_offset(record))
        local fields = tails[tail]
        if not fields then
            fields = read_tail(tail)
            tails[tail] = fields
        end
        return fields
    end

    local function put_time()
        local high, low = struct.unpack(">I2I4", record, put_time_at())
        return high * 2 ^ 32 + low
    end

    local function put_date()
        local time = put_time()
        if time == 0 then return nil end
        -- Days since 0000-03-01, so that a leap day is the last of its year.
        local days = math.floor(time / 86400000) + 719468
        local era = math.floor(days / 146097)
        local of_era = days - era * 146097
        local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524)
            - math.floor(of_era / 146096)) / 365)
        local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
        local month = math.floor((5 * of_year + 2) / 153)
        local day = of_year - math.floor((153 * month + 2) / 5) + 1
        return string.format("%04d%02d%02d", year + era * 400 + (month >= 10 and 1 or 0), (month + 2) % 12 + 1, day)
    end

    local function put_clock()
        local time = put_time()
        if time == 0 then return nil end
        local of_day = time % 86400000
        return string.format("%02d%02d%02d%02d", math.floor(of_day / 3600000), math.floor(of_day / 60000) % 60,
            math.floor(of_day / 1000) % 60, math.floor(of_day % 1000 / 10))
    end

    local function in_group(position, name)
        local _, _, group = identifier_offsets(record)
        if not group then return tail_of()[name] end
        return (struct.unpack(">i4", record, group + 24 + 4 * position))
    end

    local FIELDS = {
        MsgId = function()
            local _, at = identifier_offsets(record)
            if at then return hex(string.sub(record, at, at + 23)) end
            local origin, number = tail_of().origin, tonumber(string.match(id, "^%d+"))
            return hex("CSQ " .. origin .. string.rep(" ", 12 - #origin)
                .. struct.pack(">I2I2I4", structure, math.floor(number / 2 ^ 32), number % 2 ^ 32))
        end,
        CorrelId = function()
            local at = identifier_offsets(record)
            return at and hex(string.sub(record, at, at + 23)) or { NULL_ID }
        end,
        GroupId = function()
            local _, _, at = identifier_offsets(record)
            return at and hex(string.sub(record, at, at + 23)) or { NULL_ID }
        end,
        AccountingToken = function()
            local token = tail_of().AccountingToken
            return hex(token .. string.rep("\0", 32 - #token))
        end,
        Priority = function() return math.max(string.byte(record, 2), tail_of().Priority) end,
        Persistence = function() return has(record, PERSISTENT) and 1 or 0 end,
        BackoutCount = function() return string.byte(record, 3) end,
        Expiry = function()
            if not has(record, EXPIRY) then return -1 end
            return math.max(1, math.ceil((expiry_ms(record) - now_ms()) / 100))
        end,
        PutDate = function() return put_date() or tail_of().PutDate end,
        PutTime = function() return put_clock() or tail_of().PutTime end,
        MsgSeqNumber = function() return in_group(0, "MsgSeqNumber") end,
        Offset = function() return in_group(1, "Offset") end,
        MsgFlags = function() return in_group(2, "MsgFlags") end,
        OriginalLength = function() return in_group(3, "OriginalLength") end,
    }

    -- Properties ------------------------------------------------------------------------------------------------------

    local function utf8(code)
        if code < 128 then return string.char(code) end
        if code < 2048 then return string.char(192 + math.floor(code / 64), 128 + code % 64) end
        local last = string.char(128 + math.floor(code / 64) % 64, 128 + code % 64)
        if code < 65536 then return string.char(224 + math.floor(code / 4096)) .. last end
        return string.char(240 + math.floor(code / 262144), 128 + math.floor(code / 4096) % 64) .. last
    end

    local function from_utf_16(data, order)
        local parts, at = {}, 1
        while at < #data do
            local code = struct.unpack(order .. "I2", data, at)
            at = at + 2
            if code >= 55296 and code < 56320 and at < #data then
                code = 65536 + (code - 55296) * 1024 + struct.unpack(order .. "I2", data, at) - 56320
                at = at + 2
            end
            parts[#parts + 1] = utf8(code)
        end
        return table.concat(parts)
    end

    -- The text of a folder in UTF-8; nil in another character set.
    local function folder_text(data, ccsid, order)
        if ccsid == 1208 then return data end
        if ccsid == 1200 or ccsid == 13488 or ccsid == 17584 then return from_utf_16(data, order) end
        if ccsid == 819 then
            return (string.gsub(data, "[\128-\255]", function(byte) return utf8(string.byte(byte)) end))
        end
    end

    -- Folders of properties: name, text, where in the text the root has begun, and how long the text is, one after the
    -- other. The text of a folder in UTF-8 is the record. Where a header is not valid there is none.
    local function read_folders()
        local found, at, is_header = {}, body_offset(record) + 1, tail_of().Format == "MQHRF2"
        local headers, size_of_record = 0, #record
        while is_header and headers < MOST_HEADERS do
            headers = headers + 1
            if size_of_record - at + 1 < HEADER_LENGTH then return {} end
            local order = "<"
            local identifier, version, length, _, _, format, _, ccsid = struct.unpack("<I4i4i4i4i4c8i4i4", record, at)
            if version ~= VERSION then
                order = ">"
                _, version, length, _, _, format, _, ccsid = struct.unpack(">I4i4i4i4i4c8i4i4", record, at)
            end
            local is_ebcdic, stop, place = identifier == EBCDIC_ID, at + length, at + HEADER_LENGTH
            if version ~= VERSION or not (is_ebcdic or identifier == ASCII_ID) then return {} end
            if length < HEADER_LENGTH or stop > size_of_record + 1 then return {} end
            while place < stop do
                local size = stop - place >= 4 and struct.unpack(order .. "i4", record, place) or -1
                local begins, ends = place + 4, place + 3 + size
                if size < 0 or ends >= stop then return {} end
                local text = record
                if ccsid ~= 1208 then
                    text = folder_text(string.sub(record, begins, ends), ccsid, order)
                    if not text then return {} end
                    begins, ends = 1, #text
                end
                local _, root, name, attributes = string.find(text, ROOT, begins)
                if name and root <= ends then
                    if HAS_PROPERTIES[name] or string.find(attributes, "%scontent%s*=%s*['\"]properties['\"]") then
                        local count = #found
                        found[count + 1], found[count + 2], found[count + 3], found[count + 4] = name, text, root, ends
                    end
                elseif string.find(string.sub(text, begins, ends), "[^ %z]") then
                    return {}
                end
                place = place + 4 + size
            end
            at = stop
            is_header = string.sub(format, 1, 6) == (is_ebcdic and "\212\216\200\217\198\242" or "MQHRF2")
        end
        return found
    end

    -- The attributes and the text of the first element on this path that has no elements in it, from `at` on, which is
    -- where the tag of the root ends.
    local function leaf(text, path, at, ends)
        -- How many elements are open, and how many of them are the beginning of the path.
        local level, matched = 1, 0
        while true do
            local from, to, closes, name, rest = string.find(text, TAG, at)
            if not from or to > ends then return nil end
            if closes ~= "" then
                level = level - 1
                matched = math.min(matched, math.max(level - 1, 0))
            else
                local is_empty = string.byte(rest, -1) == 47
                if matched == level - 1 and name == path[level] then
                    if level < #path then
                        if not is_empty then matched = level end
                    elseif is_empty then
                        return string.sub(rest, 1, -2), ""
                    else
                        local next_tag = string.find(text, "<", to + 1, true)
                        if next_tag and string.byte(text, next_tag + 1) == 47 then
                            return rest, string.sub(text, to + 1, next_tag - 1)
                        end
                    end
                end
                if not is_empty then level = level + 1 end
            end
            at = to + 1
        end
    end

    local function unescaped(value)
        if not string.find(value, "&", 1, true) then return value end
        return (string.gsub(value, "&(#?)(x?)(%w+);", function(mark, digits, word)
            if mark == "" then return ENTITIES[digits .. word] end
            local code = tonumber(word, digits == "x" and 16 or 10)
            return code and code < 1114112 and utf8(code) or nil
        end))
    end

    local function number_of(value, word)
        if WHOLE[word] then return string.find(value, "^[ \t]*[+-]?%d+[ \t]*$") and tonumber(value) or nil end
        local sign = string.match(value, "^[ \t]*([+-]?)inf[ \t]*$")
        if sign then return sign == "-" and -math.huge or math.huge end
        if not string.find(value, "^[ \t]*[+-]?%d*%.?%d*[eE]?[+-]?%d*[ \t]*$") then return nil end
        local number = tonumber(value)
        return number and word == "r4" and (struct.unpack("<f", struct.pack("<f", number))) or number
    end

    local function typed(folder, path, attributes, value)
        if attributes == "" and folder ~= "jms" then return unescaped(value) end
        if string.find(attributes, "%sxsi:nil%s*=%s*['\"]true['\"]")
            or string.find(attributes, "%sxsi:nil%s*=%s*['\"]1['\"]") then return nil end
        local word = string.match(attributes, "%sdt%s*=%s*['\"]([^'\"]*)['\"]")
            or folder == "jms" and #path == 1 and IMPLIED[path[1]] or "string"
        value = unescaped(value)
        if word == "boolean" then
            local truth = string.lower(string.match(value, "^%s*(.-)%s*$"))
            if truth == "1" or truth == "true" then return true end
            if truth == "0" or truth == "false" then return false end
            return nil
        elseif word == "bin.hex" then
            return { string.lower((string.gsub(value, "%s", ""))) }
        elseif WHOLE[word] or word == "r4" or word == "r8" then
            return number_of(value, word)
        end
        return value
    end

    local function property(folder, path)
        if not folders then folders = read_folders() end
        for position = 1, #folders, 4 do
            if folders[position] == folder then
                local attributes, value = leaf(folders[position + 1], path, folders[position + 2] + 1, folders[position + 3])
                if attributes then return typed(folder, path, attributes, value) end
            end
        end
        return nil
    end

    -- The tree: each node becomes a function without arguments ----------------------------------------------------------

    local VALUES, CONDITIONS, COMPARISONS = {}, {}, {}

    local function value_of(node) return VALUES[node[1]](node) end

    local function truth_of(node) return CONDITIONS[node[1]](node) end

    local function constant(node)
        local value = node[2]
        return function() return value end
    end
    VALUES.number, VALUES.text, VALUES.boolean = constant, constant, constant

    function VALUES.bytes(node)
        local value = { node[2] }
        return function() return value end
    end

    function VALUES.property(node)
        local folder, path = node[2], {}
        for at = 3, #node do path[at - 2] = node[at] end
        return function() return property(folder, path) end
    end

    function VALUES.field(node)
        local name = node[2]
        return FIELDS[name] or function() return tail_of()[name] end
    end

    function VALUES.identifier(node)
        local field = FIELDS[node[2]]
        return function()
            local digits = field()[1]
            return digits ~= NULL_ID and "ID:" .. digits or nil
        end
    end

    function VALUES.mode()
        return function() return has(record, PERSISTENT) and "PERSISTENT" or "NON_PERSISTENT" end
    end

    function VALUES.first(node)
        local parts = {}
        for at, each in ipairs(node[2]) do parts[at] = value_of(each) end
        return function()
            for _, part in ipairs(parts) do
                local value = part()
                if value ~= nil then return value end
            end
            return nil
        end
    end

    function VALUES.calculate(node)
        local sign, left, right = node[2], value_of(node[3]), value_of(node[4])
        return function()
            local one, other = left(), right()
            if type(one) ~= "number" or type(other) ~= "number" then return nil end
            if sign == "+" then return one + other end
            if sign == "-" then return one - other end
            if sign == "*" then return one * other end
            if other == 0 then return nil end
            return one / other
        end
    end

    COMPARISONS["="] = function(one, other) return one == other end
    COMPARISONS["<>"] = function(one, other) return one ~= other end
    COMPARISONS["<"] = function(one, other) return one < other end
    COMPARISONS[">"] = function(one, other) return one > other end
    COMPARISONS["<="] = function(one, other) return one <= other end
    COMPARISONS[">="] = function(one, other) return one >= other end

    function CONDITIONS.compare(node)
        local compare, left, right = COMPARISONS[node[2]], value_of(node[3]), value_of(node[4])
        local is_equality = node[2] == "=" or node[2] == "<>"
        return function()
            local one, other = left(), right()
            if one == nil or other == nil then return nil end
            local kind = type(one)
            if kind ~= type(other) or not (is_equality or kind == "number") then return false end
            if kind == "table" then return compare(one[1], other[1]) end
            return compare(one, other)
        end
    end

    CONDITIONS["and"] = function(node)
        local parts = {}
        for at, each in ipairs(node[2]) do parts[at] = truth_of(each) end
        return function()
            local is_known = true
            for _, part in ipairs(parts) do
                local truth = part()
                if truth == false then return false end
                is_known = is_known and truth ~= nil
            end
            if is_known then return true end
            return nil
        end
    end

    CONDITIONS["or"] = function(node)
        local parts = {}
        for at, each in ipairs(node[2]) do parts[at] = truth_of(each) end
        return function()
            local is_known = true
            for _, part in ipairs(parts) do
                local truth = part()
                if truth then return true end
                is_known = is_known and truth ~= nil
            end
            if is_known then return false end
            return nil
        end
    end

    CONDITIONS["not"] = function(node)
        local part = truth_of(node[2])
        return function()
            local truth = part()
            if truth == nil then return nil end
            return not truth
        end
    end

    CONDITIONS["true"] = function(node)
        local value = value_of(node[2])
        return function()
            local found = value()
            if found == nil then return nil end
            return found == true
        end
    end

    function CONDITIONS.missing(node)
        local value = value_of(node[2])
        return function() return value() == nil end
    end

    CONDITIONS["in"] = function(node)
        local value, known = value_of(node[2]), {}
        for _, text_listed in ipairs(node[3]) do known[text_listed] = true end
        return function()
            local found = value()
            if found == nil then return nil end
            return type(found) == "string" and known[found] == true
        end
    end

    -- Parts of a pattern become patterns of Lua without repetitions, so that none takes long.
    local function part_pattern(characters)
        local texts = {}
        for at, character in ipairs(characters) do
            texts[at] = character == "" and ANY_CHARACTER
                or (string.gsub(string.gsub(character, "%p", "%%%0"), "%z", "%%z"))
        end
        return table.concat(texts)
    end

    function CONDITIONS.like(node)
        local value, parts = value_of(node[2]), {}
        for at, characters in ipairs(node[3]) do parts[at] = part_pattern(characters) end
        local first, last = "^" .. parts[1], parts[#parts] .. "$"
        return function()
            local found = value()
            if found == nil then return nil end
            if type(found) ~= "string" then return false end
            if #parts == 1 then return string.find(found, first .. "$") ~= nil end
            local from, to = string.find(found, first)
            for at = 2, #parts - 1 do
                if not from then return false end
                from, to = string.find(found, parts[at], to + 1)
            end
            return from ~= nil and string.find(found, last, to + 1) ~= nil
        end
    end

    -- A look at the bytes --------------------------------------------------------------------------------------------

    -- It takes a fifth of the time that reading the folders takes. Where it tells that no element of a message can be what
    -- the condition needs, the folders are not read.

    -- Whether an element of this name, in whatever folder, has a number for which the comparison is true.
    local function number_look(name, compare, number, is_turned)
        local begins = "<" .. name
        return function(its_record)
            local from, to = string.find(its_record, begins, 1, true)
            while from do
                local attributes, digits = string.match(its_record, "^([^<>]*)>([^<]*)<", to + 1)
                local found = digits and tonumber(digits)
                if found then
                    if is_turned and compare(number, found) or not is_turned and compare(found, number) then return true end
                    -- Such a number is rounded.
                    if string.find(attributes, "r4", 1, true) then return true end
                end
                from, to = string.find(its_record, begins, to + 1, true)
            end
            return false
        end
    end

    local function text_look(needles)
        return function(its_record)
            for _, needle in ipairs(needles) do
                if string.find(its_record, needle, 1, true) then return true end
            end
            return false
        end
    end

    local function look_for(node)
        if node[1] == "and" then
            for _, each in ipairs(node[2]) do
                local look = look_for(each)
                if look then return look end
            end
        elseif node[1] == "compare" then
            local left, right = node[3], node[4]
            local is_turned = left[1] == "number"
            if is_turned then left, right = right, left end
            if left[1] == "property" and right[1] == "number" then
                return number_look(left[#left], COMPARISONS[node[2]], right[2], is_turned)
            end
        end
        return nil
    end

    local told = cjson.decode(text)
    local condition = truth_of(told.condition)
    local look = told.needles[1] and text_look(told.needles) or look_for(told.condition)
    return function(its_id, its_record)
        -- Characters may be written as entities, or in two bytes each.
        if look and not look(its_record) and not string.find(its_record, "&", 1, true)
            and not string.find(its_record, "<\0", 1, true) then return false end
        id, record, folders = its_id, its_record, nil
        return condition() == true
    end
end
