--[[
Marks of browsing handles (MQGMO_MARK_BROWSE_*). A holder of marks is a handle (token#number), or "C": the set of handles
that were opened to co-operate (MQOO_CO_OP); or "M": the mover of a transmission queue, which marks what is for managers
outside the group. Its marks stay for the next mover.
  k           hash: message id -> its holders, each in a line; `mk` in the queue's hash while there is any
  k\nHOLDER\na, k\nHOLDER\nr   what the holder has marked of the available messages and members, by score
  k\nC\nt     when the marks of the co-operating set end by themselves; "inf": never
Every marked message in `k\nHOLDER\na` is in `a`, and a script that takes it out of `a` takes it out here too. So the
sets agree up to the first message that is not marked, and halving finds that, however many are marked in front of it.
A queue is given as a table: name, q, a, h, k (keys); g, i, r too where members of groups can be marked.
USES place
]]
-- One function where others pay for one; those in it are made where there are marks.
local function marks_of(queue, marks_base)
    local CLEANED_MAX, LEAPS_MAX, TOGETHER = 500, 32, "C"
    local times = marks_base .. TOGETHER .. "\nt"

    local function sets(holder)
        return marks_base .. holder .. "\na", marks_base .. holder .. "\nr"
    end

    local function keep(id, holders)
        if holders == "" then
            redis.call("HDEL", queue.k, id)
            if redis.call("HLEN", queue.k) == 0 then redis.call("HDEL", queue.q, "mk") end
        else
            redis.call("HSET", queue.k, id, holders)
            redis.call("HSET", queue.q, "mk", "1")
        end
    end

    local function is_marked(id, holder)
        local among_plain, among_members = sets(holder)
        return redis.call("ZSCORE", among_plain, id) or redis.call("ZSCORE", among_members, id)
    end

    -- Out of the holder's sets; whether it was there.
    local function leave(id, holder)
        local among_plain, among_members = sets(holder)
        return redis.call("ZREM", among_plain, id) + redis.call("ZREM", among_members, id) > 0
    end

    local function mark(item, holder, ends_ms)
        local holders = redis.call("HGET", queue.k, item.id) or ""
        if not string.find("\n" .. holders, "\n" .. holder .. "\n", 1, true) then
            keep(item.id, holders .. holder .. "\n")
        end
        local among_plain, among_members = sets(holder)
        local set = needs_look(item.id) and is_member(queue, item.record) and among_members or among_plain
        redis.call("ZADD", set, item.score, item.id)
        if holder == TOGETHER then redis.call("ZADD", times, ends_ms, item.id) end
    end

    local function unmark(id, holder)
        local holders = redis.call("HGET", queue.k, id)
        if not holders then return end
        leave(id, holder)
        if holder == TOGETHER then redis.call("ZREM", times, id) end
        local from, to = string.find("\n" .. holders, "\n" .. holder .. "\n", 1, true)
        if from then keep(id, string.sub(holders, 1, from - 1) .. string.sub(holders, to)) end
    end

    -- A message that is removed has no marks any more, also where a unit of work puts it back.
    local function drop(id)
        local holders = redis.call("HGET", queue.k, id)
        if not holders then return end
        for holder in string.gmatch(holders, "[^\n]+") do leave(id, holder) end
        redis.call("ZREM", times, id)
        keep(id, "")
    end

    -- While it is locked a message is not available, but stays marked.
    local function hide(id)
        local holders, kept = redis.call("HGET", queue.k, id), ""
        if not holders then return end
        for holder in string.gmatch(holders, "[^\n]+") do
            if leave(id, holder) then kept = kept .. holder .. "\n" end
        end
        keep(id, kept)
    end

    local function show(item)
        for holder in string.gmatch(redis.call("HGET", queue.k, item.id) or "", "[^\n]+") do
            if holder == TOGETHER then
                local ends_ms = redis.call("ZSCORE", times, item.id)
                if ends_ms then mark(item, holder, ends_ms) end
            elseif redis.call("HEXISTS", queue.h, holder) == 1 then
                mark(item, holder)
            end
        end
    end

    -- Marks of the co-operating set end by themselves. Returns when the next one does, ms from now; nil: none will.
    local function end_overdue()
        local now = now_ms()
        local overdue = redis.call("ZRANGEBYSCORE", times, "-inf", now, "LIMIT", 0, CLEANED_MAX)
        for _, id in ipairs(overdue) do unmark(id, TOGETHER) end
        local following = redis.call("ZRANGE", times, 0, 0, "WITHSCORES")[2]
        if not following or following == "inf" then return nil end
        return math.max(tonumber(following) - now, 0)
    end

    -- The score up to which everything after `after` in the set is marked by one of the holders; or not quite so far.
    local function skip(set, is_members, after, holders)
        local function run_end(holder, from)
            local among_plain, among_members = sets(holder)
            local marked, above = is_members and among_members or among_plain, string.format("(%.0f", from)
            local total = redis.call("ZCOUNT", marked, above, "+inf")
            if total == 0 then return from end
            local first, first_marked = redis.call("ZCOUNT", set, "-inf", string.format("%.0f", from)),
                redis.call("ZCOUNT", marked, "-inf", string.format("%.0f", from))
            local low, high, reached = 0, total, from
            -- `low` messages are marked without a gap; `high` is how many may be.
            while low < high do
                local middle = math.ceil((low + high) / 2)
                local one = redis.call("ZRANGE", set, first + middle - 1, first + middle - 1, "WITHSCORES")
                local other = redis.call("ZRANGE", marked, first_marked + middle - 1, first_marked + middle - 1)
                if one[1] == other[1] then
                    low, reached = middle, tonumber(one[2])
                else
                    high = middle - 1
                end
            end
            return reached
        end
        local reached = after
        for _ = 1, LEAPS_MAX do
            local before = reached
            for _, holder in ipairs(holders) do reached = run_end(holder, reached) end
            if reached == before or #holders == 1 then break end
        end
        return reached
    end

    -- A handle is closed, or with "C" the last one that co-operates: its marks are gone with their sets. Of what names
    -- the holder in `k` a part is put in order now; the rest means nothing, and goes with the messages.
    local function end_holder(holder)
        for _, set in ipairs({ sets(holder) }) do
            for _, id in ipairs(redis.call("ZRANGE", set, 0, CLEANED_MAX - 1)) do unmark(id, holder) end
            redis.call("UNLINK", set)
        end
        if holder == TOGETHER then redis.call("UNLINK", times) end
    end

    return {
        is_marked = is_marked, mark = mark, unmark = unmark, drop = drop, hide = hide, show = show, skip = skip,
        end_overdue = end_overdue, end_holder = end_holder,
    }
end
