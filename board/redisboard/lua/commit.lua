-- Commits batches: ARGV[3..], each a flat MessagePack array as encode.go
-- writes it (a nested one takes five times as long to read):
--   space, prefix, number of guards, of checks, of operations, of copies,
--   then the guards, checks, operations and copies, one after the other;
-- or one for batches that are much like the one before (patch.go):
--   '', then of each the number of differences, and of those place and value.
-- Each batch acts wholly or not at all: what could refuse it is asked before
-- its first write, or (with copies) taken back afterwards. What many batches
-- do to the same sorted set or list is gathered, and done once at the end of
-- the space's turn or of the call.
-- Returns MessagePack {fails, woken, alarm}; fails are pairs of a batch's
-- number and the number of its failed guard or a text.

local b          -- the batch being read
local space, pfx -- its space, and the prefix of the space's keys
-- Of the current space:
local kinds = {}  -- list or set -> command that has proved its kind
local pushes = {} -- list -> {group, command...; n: its length}, not done yet
local lives = {}  -- item -> instant or false, not done yet
local freed = {}  -- cap group -> how many leases ended
-- Of the current batch:
local known             -- a key that a guard has proved to be a record or nothing
local heldKey, heldQueue -- an item that a guard has found leased, and its lease_queue
-- Of the call:
local released, vacated = {}, {} -- members that leave ramet:leases, ramet:occupied
local nreleased = 0              -- the length operator looks for the end each time
local alarms = {}                -- member -> instant or false, not done yet
local pushed = {}                -- group -> space -> items put on empty queues
local unparks = {}               -- space -> slots
local earliest                   -- first alarm, when set by this call
local fails = {}
local stirred = {}               -- spaces that a batch has changed

-- put does the gathered push on a list.
local function put(list)
  local p = pushes[list]
  if not p then return end
  pushes[list] = nil
  local n = call(unpack(p, 2, p.n))
  if p[1] ~= '' then
    local g = pushed[p[1]]
    if not g then
      g = {}
      pushed[p[1]] = g
    end
    -- Claims wait only for queues that were empty.
    g[space] = (g[space] or 0) + (n == p.n - 3 and n or 0)
  end
end

-- push gathers items from place i to j of the batch.
local function push(group, cmd, list, i, j)
  local p = pushes[list]
  if not p or p[2] ~= cmd or p.n > 4000 then
    put(list)
    p = { group, cmd, list, n = 3 }
    pushes[list] = p
  end
  local n = p.n
  for k = i, j do
    n = n + 1
    p[n] = b[k]
  end
  p.n = n
end

local function unlease(member, queue)
  if queue then
    nreleased = nreleased + 1
    released[nreleased] = member
    freed[queue] = (freed[queue] or 0) + 1
  else
    vacated[#vacated + 1] = member
  end
end

-- apart makes two lists of a map: pairs of instant and name, and names without.
local function apart(map)
  local set, cut, i, j = {}, {}, 0, 0
  for name, ms in pairs(map) do
    if ms then
      set[i + 1], set[i + 2] = ms, name
      i = i + 2
    else
      j = j + 1
      cut[j] = name
    end
  end
  return set, cut
end

-- leave does what was gathered for the current space.
local function leave()
  if not space then return end
  at(space)
  for list in pairs(pushes) do put(list) end
  if next(lives) then
    local set, cut = apart(lives)
    if #set > 0 then bulk('ZADD', pfx .. 'ramet:live', set) end
    if #cut > 0 then bulk('ZREM', pfx .. 'ramet:live', cut) end
  end
  for queue, n in pairs(freed) do
    if call('HINCRBY', pfx .. 'ramet:running', queue, -n) <= 0 then
      call('HDEL', pfx .. 'ramet:running', queue)
    end
    unparks[space] = (unparks[space] or 0) + n
  end
  kinds, pushes, lives, freed = {}, {}, {}, {}
end

local function setAlarms()
  local set, cut = apart(alarms)
  if #cut > 0 then bulk('ZREM', 'ramet:alarms', cut) end
  if #set > 0 then
    bulk('ZADD', 'ramet:alarms', set)
    local first = call('ZRANGE', 'ramet:alarms', 0, 0, 'WITHSCORES')
    if alarms[first[1]] then earliest = first[2] end
  end
end

-- finish does all that was gathered.
local function finish()
  leave()
  at(0)
  if nreleased > 0 then bulk('ZREM', 'ramet:leases', released) end
  if #vacated > 0 then bulk('ZREM', 'ramet:occupied', vacated) end
  if next(alarms) then setAlarms() end
  for group, spaces in pairs(pushed) do
    for s, n in pairs(spaces) do
      if enter(group, s) and n == 0 then n = 1 end
      if n > 0 then woken[group] = (woken[group] or 0) + n end
    end
  end
  for s, n in pairs(unparks) do unpark(s, n) end
  released, vacated, alarms, pushed, unparks = {}, {}, {}, {}, {}
  nreleased = 0
end

local now -- ms, asked when first needed

-- Guards, checks and operations are branches of one function each: to make a
-- function for each of them, in every call, would take longer than a small
-- batch itself. What is rare is made when it is first needed.

local function leaseOf(key)
  local f = try('HMGET', key, 'lease_owner', 'attempt', 'lease_queue')
  if f.err then return false end
  return f[1], f[2], f[3]
end

-- lapse is when a lease runs out, and whether it has.
local function lapse(member, queue)
  at(0)
  local ms = call('ZSCORE', queue and 'ramet:leases' or 'ramet:occupied', member)
  at(space)
  now = now or clock()
  if ms then return true, tonumber(ms) <= now end
end

-- The sizes of records. Counting every field would cost more than the change
-- itself, so small records are told by what Redis estimates of their memory.
local maxRecord, smallRecord, smallChange = 4194304, 1048576, 16384

local function staysSmall(key, bytes)
  return bytes < smallChange and (call('MEMORY', 'USAGE', key) or 0) < smallRecord
end

local made
local function rare()
  if made then return made end
  made = {}
  local wrong = { HLEN = 'record', LLEN = 'list', SCARD = 'set' }
  local holds = { hash = 'record', zset = 'index of the board' }

  function made.wrongKind(key, cmd)
    local is = call('TYPE', key).ok
    return string.format('"%s" is a %s, not a %s', key:sub(#pfx + 1), holds[is] or is, wrong[cmd])
  end

  -- tooLarge returns a text when the record would be larger than one may be
  -- with these fields set: pairs of each list.
  function made.tooLarge(key, bytes, lists)
    local n = call('HLEN', key)
    local use = (call('MEMORY', 'USAGE', key, 'SAMPLES', n < 128 and 0 or 100) or 0) + bytes
    if use <= (n < 128 and maxRecord or maxRecord / 2) then return end
    local all, sum = {}, 0
    lists[0] = call('HGETALL', key)
    for j = 0, #lists do
      for i = 1, #lists[j], 2 do all[lists[j][i]] = #lists[j][i + 1] end
    end
    for name, len in pairs(all) do sum = sum + #name + len end
    if sum > maxRecord then
      return string.format('record "%s" would have %d bytes, the limit is %d', key:sub(#pfx + 1), sum, maxRecord)
    end
  end

  -- addable returns a text when n cannot be added to a field. Large numbers
  -- are tried out: Lua would lose digits.
  function made.addable(key, field, text, n)
    local name = key:sub(#pfx + 1)
    if text ~= '0' and not text:match('^-?[1-9]%d*$') then
      return string.format('field "%s" of "%s" is "%s", want a decimal number of 64 bits', field, name, text:sub(1, 40))
    end
    if #text <= 15 and #n <= 15 then return end
    if type(try('HINCRBY', key, field, n)) == 'table' then
      return string.format('field "%s" of "%s" is %s: with %s added it leaves 64 bits', field, name, text, n)
    end
    call('HSET', key, field, text)
  end

  function made.copies(p, n)
    local out = {}
    for i = 1, n do
      local key = b[p + i - 1]
      local dump = call('DUMP', key)
      out[i] = { key, dump, dump and call('PEXPIRETIME', key) }
    end
    return out
  end

  function made.restore(saved)
    for _, c in ipairs(saved) do
      call('UNLINK', c[1])
      if c[2] then call('RESTORE', c[1], math.max(c[3], 0), c[2], 'ABSTTL') end
    end
  end

  return made
end

-- prove returns a text when the key holds something of another kind.
local function prove(cmd, key)
  if kinds[key] == cmd or known == key and cmd == 'HLEN' then return end
  put(key)
  if type(try(cmd, key)) == 'table' then return rare().wrongKind(key, cmd) end
  if cmd ~= 'HLEN' then
    kinds[key] = cmd
  elseif kinds[key] then
    kinds[key] = nil
  end
end

-- guard is given the place of a guard, and returns the place after it and nil,
-- the number of the guard that fails, or a text.
local function guard(p)
  local code = b[p]
  if code == 2 then
    -- Equal and held, side by side on one key: mismatch, number of values, of
    -- fields, HMGET, key, fields, then value and guard's number of each. A
    -- field without a value is lease_queue. The value 0 is what no field has.
    local values, fields, key = b[p + 2], b[p + 3], b[p + 5]
    local q = p + 6 + fields
    put(key)
    local f = try(unpack(b, p + 4, q - 1))
    if f.err then return q, b[p + 1] end
    for i = 1, values do
      if (f[i] or '') ~= b[q] then return q, b[q + 1] end
      q = q + 2
    end
    known, kinds[key] = key, nil -- a list that was emptied may become a record
    if fields > values then heldKey, heldQueue = key, f[fields] end
    return q
  elseif code == 1 then
    -- Absent: number, key.
    local key = b[p + 2]
    put(key)
    if call('EXISTS', key) == 1 then return p + 3, b[p + 1] end
    kinds[key] = nil
    return p + 3
  elseif code == 3 then
    -- Lapsed: number, key, token, member.
    local owner, token, queue = leaseOf(b[p + 2])
    local there, over
    if owner and token == b[p + 3] then there, over = lapse(b[p + 4], queue) end
    return p + 5, not (there and over) and b[p + 1] or nil
  elseif code == 4 then
    -- Alarm: number, member, ms.
    local ms = alarms[b[p + 2]]
    if ms == nil then
      at(0)
      ms = call('ZSCORE', 'ramet:alarms', b[p + 2])
      at(space)
    end
    return p + 4, ms ~= b[p + 3] and b[p + 1] or nil
  elseif code == 5 then
    -- Free: number, key, member.
    local owner, _, queue = leaseOf(b[p + 2])
    local there, over
    if owner then there, over = lapse(b[p + 3], queue) end
    return p + 4, there and not over and b[p + 1] or nil
  end
  -- 6, length: number, key, length; 7, item: number, key, index, item.
  local key, want = b[p + 2], p + code - 3
  local bad = prove('LLEN', key)
  if bad then return want + 1, bad end
  put(key)
  local found
  if code == 6 then
    found = call('LLEN', key)
  else
    found = call('LINDEX', key, b[p + 3])
  end
  return want + 1, found ~= b[want] and b[p + 1] or nil
end

-- checkNumber returns a text when n cannot be added to a field, and the
-- field's text.
local function checkNumber(key, field, n)
  put(key)
  local text = try('HGET', key, field)
  if type(text) == 'table' then return rare().wrongKind(key, 'HLEN') end
  kinds[key] = nil
  if text then
    if #text < 15 and #n < 15 and (text:match('^[1-9]%d*$') or text == '0') then return nil, text end
    return rare().addable(key, field, text, n), text
  end
  if not staysSmall(key, #field + #n) then return rare().tooLarge(key, #field + #n, { { field, n } }) end
end

-- add adds n to a number that checkNumber has let through. It returns the sum.
local function add(key, field, n) return call('HINCRBY', key, field, n) end

-- check is given the places of a check before the first write and of the first
-- operation. It returns the place after the check and nil or a text.
local function check(p, ops)
  local code, key = b[p], b[p + 1]
  if code == 1 then
    -- Record: key, bytes to be set, number of commands that set, for each
    -- where its length stands, counted from the first operation.
    local bytes, n = b[p + 2], b[p + 3]
    local q = p + 4 + n
    local bad = prove('HLEN', key)
    if bad or n == 0 or staysSmall(key, bytes) then return q, bad end
    local lists = {}
    for i = 1, n do
      local from = ops + b[p + 3 + i]
      lists[i] = { unpack(b, from + 3, from + b[from]) }
    end
    return q, rare().tooLarge(key, bytes, lists)
  elseif code == 2 then -- list: key
    return p + 2, prove('LLEN', key)
  elseif code == 3 then -- set: key
    return p + 2, prove('SCARD', key)
  elseif code == 4 then -- add: key, field, n
    return p + 4, (checkNumber(key, b[p + 2], b[p + 3]))
  end
  -- 5, countdown: key, field, list.
  local bad, text = checkNumber(key, b[p + 2], '-1')
  if not bad and whole(text) == 1 then bad = prove('LLEN', b[p + 3]) end
  return p + 4, bad
end

-- endLease forgets the lease on an item whose record goes.
local function endLease(key, member)
  local owner, _, queue = leaseOf(key)
  if owner then unlease(member, queue) end
  if heldKey == key then heldKey = nil end
end

-- act is given the place of an operation and returns the place after it.
local function act(p)
  local code = b[p]
  if code == 1 then -- on a record or set: length, command
    local last = p + 1 + b[p + 1]
    call(unpack(b, p + 2, last))
    return last + 1
  elseif code == 2 then -- push: group, number of items, command, list, items
    local last = p + 4 + b[p + 2]
    push(b[p + 1], b[p + 3], b[p + 4], p + 5, last)
    return last + 1
  elseif code == 3 then -- release: key, member
    local key, owner, queue = b[p + 1], true, heldQueue
    if heldKey ~= key then
      local _
      owner, _, queue = leaseOf(key)
    end
    heldKey = nil
    if owner then
      unlease(b[p + 2], queue)
      call('HDEL', key, 'lease_owner', 'lease_queue')
    end
    return p + 3
  elseif code == 4 then -- settle: item
    lives[b[p + 1]] = false
    return p + 2
  elseif code == 5 then -- live: item, ms
    lives[b[p + 1]] = b[p + 2]
    return p + 3
  elseif code == 6 then -- set alarm: member, ms
    alarms[b[p + 1]] = b[p + 2]
    return p + 3
  elseif code == 7 then -- clear alarm: member
    alarms[b[p + 1]] = false
    return p + 2
  elseif code == 8 then -- add: key, field, n
    add(b[p + 1], b[p + 2], b[p + 3])
    return p + 4
  elseif code == 9 then -- countdown: key, field, group, list, item, length or 0, HSET
    local last = p + 6 + b[p + 6]
    if call('EXISTS', b[p + 1]) == 1 and add(b[p + 1], b[p + 2], -1) == 0 then
      if b[p + 6] > 0 then call(unpack(b, p + 7, last)) end
      push(b[p + 3], 'RPUSH', b[p + 4], p + 5, p + 5)
    end
    return last + 1
  elseif code == 10 then -- delete: key, item, member
    local key = b[p + 1]
    put(key)
    endLease(key, b[p + 3])
    call('UNLINK', key)
    lives[b[p + 2]], kinds[key] = false, nil
    return p + 4
  elseif code == 11 then -- unset: key, member, length, HDEL
    local key, last = b[p + 1], p + 3 + b[p + 3]
    local owner, _, queue = leaseOf(key)
    call(unpack(b, p + 4, last))
    if owner and call('EXISTS', key) == 0 then
      unlease(b[p + 2], queue)
      if heldKey == key then heldKey = nil end
    end
    return last + 1
  elseif code == 12 then -- append: group, list, how many stay, number of items, items
    local list, most, last = b[p + 2], b[p + 3], p + 4 + b[p + 4]
    if b[p + 4] > 0 then push(b[p + 1], 'RPUSH', list, p + 5, last) end
    put(list)
    if most == 0 then
      call('UNLINK', list)
    else
      call('LTRIM', list, -most, -1)
    end
    return last + 1
  elseif code == 13 then -- drop: list, count, number of items, items
    local last = p + 3 + b[p + 3]
    put(b[p + 1])
    for i = p + 4, last do call('LREM', b[p + 1], b[p + 2], b[i]) end
    return last + 1
  elseif code == 14 or code == 17 then -- expire, trim: length, command
    local last = p + 1 + b[p + 1]
    put(b[p + 3])
    call(unpack(b, p + 2, last))
    return last + 1
  elseif code == 15 then -- the space's limits have changed
    unparks[space] = (unparks[space] or 0) + 1024
  end
  return p + 1 -- 16: nothing; it carries a check
end

-- note tells watchers of the key that an operation changes.
local function note(p)
  local code = b[p]
  if code == 1 or code == 17 then
    changed(space, pfx, b[p + 3])
  elseif code == 2 then
    changed(space, pfx, b[p + 4])
  elseif code == 12 then
    changed(space, pfx, b[p + 2])
  elseif code == 3 or (code >= 8 and code <= 13) then
    changed(space, pfx, b[p + 1])
  end
  if code == 9 then changed(space, pfx, b[p + 4]) end
end

-- Careful batches: where operations depend on each other in ways that cannot
-- be judged beforehand, each is checked when its turn comes (its checks stand
-- before it, after their number), and copies of all keys take everything back.

local function step(p)
  local n, bad = b[p], nil
  p = p + 1
  for _ = 1, n do
    p, bad = check(p, 0)
    if bad then return p, bad end
  end
  local after, code, key = act(p), b[p], nil
  if code == 1 and b[p + 2] == 'HSET' then key = b[p + 3] end
  if code == 8 or code == 9 then key = b[p + 1] end
  if key and not staysSmall(key, 0) then bad = rare().tooLarge(key, 0, {}) end
  return after, bad
end

local function careful(p, n, ncopies)
  finish()
  at(space)
  local saved = rare().copies(p, ncopies)
  local bad
  p = p + ncopies
  for _ = 1, n do
    p, bad = step(p)
    if bad then break end
  end
  if not bad then return end
  rare().restore(saved)
  kinds, pushes, lives, freed = {}, {}, {}, {}
  released, vacated, alarms, pushed, unparks = {}, {}, {}, {}, {}
  nreleased = 0
  return bad
end

local function commit()
  if b[1] ~= space then
    leave()
    space, pfx = b[1], b[2]
  end
  at(space)
  known, heldKey = nil, nil
  local p, bad = 7, nil
  for _ = 1, b[3] do
    p, bad = guard(p)
    if bad then return bad end
  end
  if b[6] > 0 then
    bad = careful(p, b[5], b[6])
    if not bad and listening() then
      for i = p, p + b[6] - 1 do changed(space, pfx, b[i]) end
    end
    return bad
  end
  local first = p + b[4]
  while p < first do
    p, bad = check(p, first)
    if bad then return bad end
  end
  local watched = listening()
  for _ = 1, b[5] do
    if watched then note(p) end
    p = act(p)
  end
end

local number = 0 -- of the batch in the call
local function commitNext()
  local bad = commit()
  if bad then
    fails[#fails + 1], fails[#fails + 2] = number, bad
  elseif b[5] > 0 and space ~= 0 then
    stirred[space] = true
  end
  number = number + 1
end

for i = 3, #ARGV do
  local values = unp(ARGV[i])
  if values[1] ~= '' then
    b = values
    commitNext()
  else -- batches that say how they differ from the one before
    local p, n = 2, #values
    while p <= n do
      local last = p + 2 * values[p]
      for k = p + 1, last, 2 do b[values[k]] = values[k + 1] end
      commitNext()
      p = last + 1
    end
  end
end
finish()
if next(stirred) then -- see Board.Changed; what others have written there fails no commit
  at(0)
  local n = try('HINCRBY', 'ramet:board', 'changes', 1)
  for s in pairs(type(n) == 'number' and stirred or {}) do try('ZADD', 'ramet:changed', n, s) end
end
if earliest then call('PUBLISH', 'ramet:alarm', ARGV[2] .. '|' .. earliest) end
local out = tell()
if #fails == 0 and #out == 0 and not earliest then return false end
return pack({ fails, out, earliest or '' })
