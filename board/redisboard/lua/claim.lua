-- Claims items. ARGV[3] is the ask, a flat MessagePack array:
--   owner, lease ms, max, skip field, then seven times a number and as many:
--   skip values, marks (names and values), milliseconds stamps, seconds stamps,
--   spaces (none: all), spaces that are passed over, charges (a space and items,
--   each); then the milliseconds by which items age, and the fields that say when they
--   were queued; then the queues. A queue is its group, cap group, what the keys
--   of its records begin with, and two times a number and as many: lists,
--   siblings (the other lists that the group may have).
-- Returns {now ms, more, runs}. A run is a space, the number of a queue, and a
-- string for each item: names and values of the record before the claim, then
-- the item, its token and how many names and values, joined by NULs. One
-- string costs half of handing them over one by one. More is 1 when it stopped
-- after dropping many items.

local concat = table.concat
local ask = unp(ARGV[3])
local owner, ttl, most, skipField = ask[1], ask[2], ask[3], ask[4]
local place = 5

-- values reads a number and as many values.
local function values()
  local first, last = place + 1, place + ask[place]
  place = last + 1
  return { unpack(ask, first, last) }
end

local skips = values()
local now = clock()
local till = string.format('%.0f', now + ttl) -- Redis would print the number anew for each item
local out, size = { 0, 0 }, 2
local run                      -- the turn whose items were put out last
local leases, n, drops = {}, 0, 0 -- pairs of end and member of n items
local number = 0      -- of the queue being served
local maxDrops = 4096 -- bounds how long one call may hold up the server

-- What is set on each item; key, queue and token differ.
local write = { 'HSET', '', unpack(values()) }
for divisor = 1, 1000, 999 do -- milliseconds, then seconds
  for _, name in ipairs(values()) do
    write[#write + 1], write[#write + 2] = name, string.format('%.0f', math.floor(now / divisor))
  end
end
local only -- spaces to claim from; nil: all
for _, space in ipairs(values()) do
  only = only or {}
  only[space] = true
end
local except = {}
for _, space in ipairs(values()) do except[space] = true end
local charges = values()
local ageStep = ask[place]
place = place + 1
local ageFields = values()
local tokenAt = #write + 6
local queueAt = tokenAt - 2
write[tokenAt - 5], write[tokenAt - 4], write[tokenAt - 3], write[queueAt] = 'lease_owner', owner, 'lease_queue', ''
write[tokenAt - 1], write[tokenAt] = 'attempt', ''

-- leased reports whether the board knows the lease a record speaks of.
local function leased(space, member, holder)
  if holder == owner then
    for i = 2, 2 * n, 2 do
      if leases[i] == member then return true end
    end
  end
  at(0)
  local known = call('ZSCORE', 'ramet:leases', member) or call('ZSCORE', 'ramet:occupied', member)
  at(space)
  return known
end

-- decimal is a number as text. Most are small.
local decimals = {}
local function decimal(number)
  local text = decimals[number]
  if not text then
    text = string.format('%.0f', number)
    decimals[number] = text
  end
  return text
end

-- lease leases one item, or returns false when it is to be dropped.
local function lease(t, item)
  if item == '' or #item > t.longest or item:find('\0', 1, true) then return false end
  local key, member = t.key .. item, t.mark .. item
  local rec = try('HGETALL', key)
  if rec.err then return false end
  local attempt, value, fields = 0, '', #rec
  for i = 1, fields, 2 do
    local name = rec[i]
    if name == 'attempt' then
      attempt = whole(rec[i + 1]) or 0
    elseif name == 'lease_owner' and leased(t.space, member, rec[i + 1]) then
      return false
    end
    if name == skipField then value = rec[i + 1] end
  end
  if skipField ~= '' then
    for i = 1, #skips do
      if skips[i] == value then return false end
    end
  end
  local token = decimal(attempt + 1)
  write[2], write[tokenAt] = key, token
  call(unpack(write, 1, tokenAt))
  if run ~= t then
    out[size + 1], out[size + 2] = t.space, number
    run, size = t, size + 2
  end
  rec[fields + 1], rec[fields + 2], rec[fields + 3] = item, token, decimal(fields)
  size = size + 1
  out[size] = concat(rec, '\0')
  leases[2 * n + 1], leases[2 * n + 2] = till, member
  n = n + 1
  if listening() then changed(t.space, t.pfx, key) end
  return true
end

-- look reads the next items of a list where they lie, and returns the next; nil where
-- there is none.
local function look(t, lists, i)
  local l = t.lines[i]
  if not l then
    l = { left = 0, chunk = t.chunk }
    t.lines[i] = l
  end
  if l.left == 0 and not l.out then
    local used = t.used[i] or 0
    local items = try('LRANGE', t.pfx .. lists[i], -(used + l.chunk), -(used + 1))
    if items.err then items = {} end
    l.items, l.left, l.out, l.head = items, #items, #items == 0, nil
    l.chunk = math.min(256, l.chunk * 2)
  end
  if l.left > 0 then return l.items[l.left], l end
end

-- age is when the next item of a list was queued, by those of its record's fields that say so.
local function age(t, l, item)
  if l.head then return l.head end
  local at = now
  if item ~= '' and #item <= t.longest then
    local f = try('HMGET', t.key .. item, unpack(ageFields))
    for k = #ageFields, 1, -1 do
      local n = not f.err and whole(f[k])
      if n and n > 0 then
        if ageFields[k]:sub(-3) ~= '_ms' then n = n * 1000 end
        at = math.min(n, now)
      end
    end
  end
  l.head = at
  return at
end

-- choose returns the list to take from, the first that has something or by age, its next
-- item, and what is known of it. Lists that have nothing left are not looked at again.
local function choose(t, lists)
  if ageStep == 0 then
    for i = t.list, #lists do
      local item, l = look(t, lists, i)
      if item then
        t.list = i
        return i, item, l
      end
    end
    t.list = #lists + 1
    return nil
  end
  local some = t.some
  if not some then
    some = {}
    for i = 1, #lists do some[i] = i end
    t.some = some
  end
  for k = #some, 1, -1 do
    if not look(t, lists, some[k]) then table.remove(some, k) end
  end
  local best, first = some[1], nil
  for k = 1, #some > 1 and #some or 0 do
    local i = some[k]
    local item, l = look(t, lists, i)
    local at = age(t, l, item) + (i - 1) * ageStep
    if not first or at < first then first, best = at, i end
  end
  if best then return best, look(t, lists, best) end
end

-- take leases the next item of a space that can be leased. Items are looked
-- at where they lie and taken off the list when the space is done.
local function take(t, lists)
  while true do
    local i, item, l = choose(t, lists)
    if not i then break end
    l.left, l.head = l.left - 1, nil
    t.used[i] = (t.used[i] or 0) + 1
    if lease(t, item) then
      t.count = t.count + 1
      return true
    end
    drops = drops + 1
    if drops >= maxDrops then return false end
  end
  t.empty = true
  return false
end

-- limit reads a space's weight and caps.
local function limit(t, capGroup)
  at(t.space)
  local f = try('HMGET', t.pfx .. 'ramet:limits', 'weight', maxField, capPrefix .. capGroup)
  if f.err then f = {} end
  local w = whole(f[1])
  t.weight = w and w >= 1 and w <= 1000 and w or 1
  t.room = math.huge
  local all, mine = whole(f[2]), whole(f[3])
  -- The engine's own queues count to no cap.
  if all and all >= 0 and capGroup:sub(1, #ownQueues) ~= ownQueues then
    local running = 0
    local counts = call('HGETALL', t.pfx .. 'ramet:running')
    for i = 1, #counts, 2 do
      if counts[i]:sub(1, #ownQueues) ~= ownQueues then running = running + counts[i + 1] end
    end
    t.room = all - running
  end
  if mine and mine >= 0 then
    t.room = math.min(t.room, mine - tonumber(call('HGET', t.pfx .. 'ramet:running', capGroup) or 0))
  end
end

local function before(a, b)
  if a.pass ~= b.pass then return a.pass < b.pass end
  return a.space < b.space
end

-- A heap of the spaces that have been served, by pass.
local function rise(heap, t)
  local i = #heap + 1
  while i > 1 do
    local up = math.floor(i / 2)
    if not before(t, heap[up]) then break end
    heap[i] = heap[up]
    i = up
  end
  heap[i] = t
end

local function sink(heap)
  local top, t = heap[1], heap[#heap]
  heap[#heap] = nil
  local size, i = #heap, 1
  if size == 0 then return top end
  while 2 * i <= size do
    local down = 2 * i
    if down < size and before(heap[down + 1], heap[down]) then down = down + 1 end
    if not before(heap[down], t) then break end
    heap[i] = heap[down]
    i = down
  end
  heap[i] = t
  return top
end

-- The spaces of the group in order of pass, some at a time.
local pageSize = 64

-- A turn of a large claim is some items long: to go to another space for each
-- would cost as much as the item itself. Over many claims the shares are the
-- same, and who comes back after a while is still served first.
local quantum = math.max(1, math.min(32, math.floor(most / 8)))

local function newcomers(group)
  return { key = 'ramet:ready:' .. group, from = 0, page = {}, at = 1 }
end

local function peek(line)
  if line.at > #line.page and not line.done then
    at(0)
    line.page = call('ZRANGE', line.key, line.from, line.from + pageSize - 1, 'WITHSCORES')
    line.from, line.at = line.from + pageSize, 1
    line.done = #line.page < 2 * pageSize
  end
  if line.at > #line.page then return nil end
  local t = line.next
  if not t or t.at ~= line.from + line.at then
    t = { space = tonumber(line.page[line.at]), pass = tonumber(line.page[line.at + 1]), at = line.from + line.at,
      list = 1, lines = {}, used = {}, count = 0 }
    line.next = t
  end
  return t
end

local function nextTurn(heap, line)
  local new = peek(line)
  if heap[1] and not (new and before(new, heap[1])) then return sink(heap) end
  if new then line.at = line.at + 2 end
  return new
end

-- settleSpace takes off the lists what was leased or dropped, and counts.
local function settleSpace(t, lists, capGroup, siblings)
  at(t.space)
  for i, used in pairs(t.used) do
    call('LTRIM', t.pfx .. lists[i], 0, -used - 1)
    if listening() then changed(t.space, t.pfx, t.pfx .. lists[i]) end
  end
  if t.count > 0 then call('HINCRBY', t.pfx .. 'ramet:running', capGroup, t.count) end
  if t.empty and #siblings > 0 then
    local keys = {}
    for i, list in ipairs(siblings) do keys[i] = t.pfx .. list end
    t.stays = filled(keys)
  end
end

-- settleGroup writes the turns down.
local function settleGroup(group, served, turn)
  local ready, gone, away = {}, {}, {}
  at(0)
  for _, t in ipairs(served) do
    if t.parked then
      gone[#gone + 1] = t.space
      call('ZADD', 'ramet:parked:' .. group, t.pass, t.space)
      local groups = cjson.decode(call('HGET', 'ramet:capped', t.space) or '[]')
      groups[#groups + 1] = group
      call('HSET', 'ramet:capped', t.space, cjson.encode(groups))
    elseif t.empty and not t.stays then
      gone[#gone + 1] = t.space
      away[#away + 1], away[#away + 2] = t.pass, t.space
    elseif t.count > 0 then
      ready[#ready + 1], ready[#ready + 2] = t.pass, t.space
    end
  end
  if #gone > 0 then bulk('ZREM', 'ramet:ready:' .. group, gone) end
  if #ready > 0 then bulk('ZADD', 'ramet:ready:' .. group, ready) end
  if turn then call('HSET', 'ramet:turn', group, turn) end
  if #away > 0 then
    bulk('ZADD', 'ramet:away:' .. group, away)
    local pass = turn or call('HGET', 'ramet:turn', group)
    if pass then call('ZREMRANGEBYSCORE', 'ramet:away:' .. group, '-inf', pass) end
  end
end

-- weigh divides what is charged by the weights of the spaces, once.
local function weigh()
  for i = 1, #charges, 2 do
    at(charges[i])
    local f = try('HGET', prefix(charges[i]) .. 'ramet:limits', 'weight')
    local w = type(f) == 'string' and whole(f)
    if w and w >= 1 and w <= 1000 then charges[i + 1] = charges[i + 1] / w end
  end
end

-- charge moves turns of a group on. The group's own goes along with the lowest of
-- those that are ready, or where none is with those that are charged.
local function charge(group)
  at(0)
  local turn = call('HGET', 'ramet:turn', group)
  if not turn then return end -- nobody was served yet
  turn = tonumber(turn)
  local ready, parked, away = 'ramet:ready:' .. group, 'ramet:parked:' .. group, 'ramet:away:' .. group
  local most = turn
  for i = 1, #charges, 2 do
    local space, items = charges[i], charges[i + 1]
    local key, pass = ready, call('ZSCORE', ready, space)
    if not pass and anyCapped() then key, pass = parked, call('ZSCORE', parked, space) end
    if not pass then key, pass = away, call('ZSCORE', away, space) or turn end
    pass = tonumber(pass) + items -- ZADD, not ZINCRBY: users of Redis were made without that
    most = math.max(most, pass)
    call('ZADD', key, pass, space)
  end
  local first = call('ZRANGE', ready, 0, 0, 'WITHSCORES')
  turn = math.max(turn, tonumber(first[2] or most))
  call('HSET', 'ramet:turn', group, turn)
  call('ZREMRANGEBYSCORE', away, '-inf', turn)
end

local function claimFrom(group, capGroup, naming, lists, siblings)
  local heap, line, served, turn = {}, newcomers(group), {}, nil
  local share = nil
  write[queueAt] = capGroup
  while n < most and drops < maxDrops do
    local t = nextTurn(heap, line)
    while t and (except[t.space] or only and not only[t.space]) do t = nextTurn(heap, line) end
    if not t then break end
    if not t.pfx then
      t.pfx = prefix(t.space)
      t.key, t.mark, t.longest = t.pfx .. naming, t.space .. '|' .. naming, 255 - #naming
      served[#served + 1] = t
      limit(t, capGroup)
      share = share or math.max(quantum, math.ceil(most * 2 / #line.page))
      t.chunk = math.min(share, most, 256)
    end
    at(t.space)
    -- The space goes on for its turn, and as long as its pass is the lowest.
    local rival, stop = heap[1], math.min(most, n + quantum)
    local new = peek(line)
    if new and (not rival or before(new, rival)) then rival = new end
    at(t.space)
    repeat
      if t.room <= 0 then
        t.parked = true
        break
      end
      if not take(t, lists) then break end
      turn = t.pass
      t.pass = t.pass + 1 / t.weight
      t.room = t.room - 1
    until n >= most or (n >= stop and rival and before(rival, t))
    if not t.parked and not t.empty then rise(heap, t) end
  end
  for _, t in ipairs(served) do settleSpace(t, lists, capGroup, siblings) end
  if #served > 0 then settleGroup(group, served, turn) end
end

local queues = ask[place]
place = place + 1
weigh()
for i = 1, queues do
  if n >= most or drops >= maxDrops then break end
  number = i - 1
  local group, capGroup, naming = ask[place], ask[place + 1], ask[place + 2]
  place = place + 3
  local lists = values()
  if #charges > 0 then charge(group) end
  claimFrom(group, capGroup, naming, lists, values())
end
if n > 0 then
  at(0)
  if bulk('ZADD', 'ramet:leases', leases) < n then
    -- Somebody has deleted a leased record and made it anew.
    local seen = {}
    for i = 2, 2 * n, 2 do seen[split(leases[i])] = true end
    for space in pairs(seen) do recount(space) end
  end
end
tell()
if n == 0 and drops < maxDrops then return false end
out[1], out[2] = now, drops >= maxDrops and 1 or 0
return out
