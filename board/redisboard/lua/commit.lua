-- Commits batches: ARGV[3..], each a flat MessagePack array as encode.go
-- writes it (a nested one takes five times as long to read):
--   space, prefix, number of guards, of checks, of operations, of copies,
--   then the guards, checks, operations and copies, one after the other.
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

-- score is when a lease runs out.
local function score(member, queue)
  at(0)
  local s = call('ZSCORE', queue and 'ramet:leases' or 'ramet:occupied', member)
  at(space)
  return s and tonumber(s)
end

local now
local function due(ms)
  now = now or clock()
  return ms <= now
end

local function leaseOf(key)
  local f = try('HMGET', key, 'lease_owner', 'attempt', 'lease_queue')
  if f.err then return false end
  return f[1], f[2], f[3]
end

-- Guards. They are given the place after their code, and return the place
-- after themselves and nil, the number of the guard that fails, or a text.
local guards = {
  -- 1 absent: number, key
  function(p)
    local key = b[p + 1]
    put(key)
    if call('EXISTS', key) == 1 then return p + 2, b[p] end
    kinds[key] = nil
    return p + 2
  end,
  -- 2 equal and held, side by side on one key: mismatch, number of values, of
  -- fields, HMGET, key, fields, then value and guard's number of each. A field
  -- without a value is lease_queue. The value 0 is what no field has.
  function(p)
    local values, fields, key = b[p + 1], b[p + 2], b[p + 4]
    local q = p + 5 + fields
    put(key)
    local f = try(unpack(b, p + 3, q - 1))
    if f.err then return q, b[p] end
    for i = 1, values do
      if (f[i] or '') ~= b[q] then return q, b[q + 1] end
      q = q + 2
    end
    known = key
    if fields > values then heldKey, heldQueue = key, f[fields] end
    return q
  end,
  -- 3 lapsed: number, key, token, member
  function(p)
    local owner, token, queue = leaseOf(b[p + 1])
    local ms = owner and token == b[p + 2] and score(b[p + 3], queue)
    return p + 4, not (ms and due(ms)) and b[p] or nil
  end,
  -- 4 alarm: number, member, ms
  function(p)
    local ms = alarms[b[p + 1]]
    if ms == nil then
      at(0)
      ms = call('ZSCORE', 'ramet:alarms', b[p + 1])
      at(space)
    end
    return p + 3, ms ~= b[p + 2] and b[p] or nil
  end,
  -- 5 free: number, key, member
  function(p)
    local owner, _, queue = leaseOf(b[p + 1])
    local ms = owner and score(b[p + 2], queue)
    return p + 3, ms and not due(ms) and b[p] or nil
  end,
}

local wrong = { HLEN = 'record', LLEN = 'list', SCARD = 'set' }
local holds = { hash = 'record', list = 'list', set = 'set', zset = 'index of the board', string = 'string' }

local function wrongKind(key, cmd)
  local is = call('TYPE', key).ok
  return string.format('"%s" is a %s, not a %s', key:sub(#pfx + 1), holds[is] or is, wrong[cmd])
end

-- prove returns a text when the key holds something of another kind.
local function prove(cmd, key)
  if kinds[key] == cmd or known == key and cmd == 'HLEN' then return end
  put(key)
  if type(try(cmd, key)) == 'table' then return wrongKind(key, cmd) end
  if cmd ~= 'HLEN' then
    kinds[key] = cmd
  elseif kinds[key] then
    kinds[key] = nil
  end
end

-- The sizes of records. Counting every field would cost more than the change
-- itself, so small records are told by what Redis estimates of their memory.
local maxRecord, smallRecord, smallChange = 4194304, 1048576, 16384

local function staysSmall(key, bytes)
  return bytes < smallChange and (call('MEMORY', 'USAGE', key) or 0) < smallRecord
end

-- tooLarge returns a text when the record would be larger than one may be with
-- these fields set: pairs of each list.
local function tooLarge(key, bytes, lists)
  local n = call('HLEN', key)
  local use = (call('MEMORY', 'USAGE', key, 'SAMPLES', n < 128 and 0 or 100) or 0) + bytes
  if use <= (n < 128 and maxRecord or maxRecord / 2) then return end
  local all, sum, f = {}, 0, call('HGETALL', key)
  lists[0] = f
  for j = 0, #lists do
    for i = 1, #lists[j], 2 do all[lists[j][i]] = #lists[j][i + 1] end
  end
  for name, len in pairs(all) do sum = sum + #name + len end
  if sum > maxRecord then
    return string.format('record "%s" would have %d bytes, the limit is %d', key:sub(#pfx + 1), sum, maxRecord)
  end
end

-- plain is a decimal number as Redis itself would write it, or nil.
local function plain(text)
  local sign, digits = text:match('^([+-]?)0*(%d+)$')
  return digits and (sign == '-' and digits ~= '0' and '-' or '') .. digits
end

-- addable returns a text when n cannot be added to a field. Large numbers are
-- tried out: Lua would lose digits.
local function addable(key, field, text, n)
  if not text then
    if staysSmall(key, #field + #n) then return end
    return tooLarge(key, #field + #n, { { field, n } })
  end
  local name, old = key:sub(#pfx + 1), plain(text)
  if not old then
    return string.format('field "%s" of "%s" is "%s", want a decimal number of 64 bits', field, name, text:sub(1, 40))
  end
  if #old <= 15 and #n <= 15 then return end
  call('HSET', key, field, old)
  local r = try('HINCRBY', key, field, n)
  call('HSET', key, field, text)
  if type(r) == 'table' then
    return string.format('field "%s" of "%s" is %s: with %s added it leaves 64 bits', field, name, old, n)
  end
end

-- add adds n to a number that addable has let through. It returns the sum.
local function add(key, field, n)
  local r = try('HINCRBY', key, field, n)
  if type(r) ~= 'table' then return r end
  call('HSET', key, field, plain(call('HGET', key, field)))
  return call('HINCRBY', key, field, n)
end

local function checkNumber(key, field, n)
  put(key)
  local text = try('HGET', key, field)
  if type(text) == 'table' then return wrongKind(key, 'HLEN') end
  return addable(key, field, text, n), text
end

-- Checks before the first write. They are given the place after their code
-- and that of the first operation, and return the place after themselves and
-- nil or a text.
local checks = {
  -- 1 record: key, bytes to be set, number of commands that set, for each
  -- where its length stands, counted from the first operation
  function(p, ops)
    local key, bytes, n = b[p], b[p + 1], b[p + 2]
    local q = p + 3 + n
    local bad = prove('HLEN', key)
    if bad or n == 0 or staysSmall(key, bytes) then return q, bad end
    local lists = {}
    for i = 1, n do
      local from = ops + b[p + 2 + i]
      lists[i] = { unpack(b, from + 3, from + b[from]) }
    end
    return q, tooLarge(key, bytes, lists)
  end,
  -- 2 list: key
  function(p) return p + 1, prove('LLEN', b[p]) end,
  -- 3 set: key
  function(p) return p + 1, prove('SCARD', b[p]) end,
  -- 4 add: key, field, n
  function(p) return p + 3, (checkNumber(b[p], b[p + 1], b[p + 2])) end,
  -- 5 countdown: key, field, list
  function(p)
    local bad, text = checkNumber(b[p], b[p + 1], '-1')
    if not bad and whole(text) == 1 then bad = prove('LLEN', b[p + 2]) end
    return p + 3, bad
  end,
}

-- endLease forgets the lease on an item whose record goes.
local function endLease(key, member)
  local owner, _, queue = leaseOf(key)
  if owner then unlease(member, queue) end
  if heldKey == key then heldKey = nil end
end

-- Operations. They are given the place after their code and return the place
-- after themselves.
local acts = {
  -- 1 on a record or set: length, command
  function(p)
    local last = p + b[p]
    call(unpack(b, p + 1, last))
    return last + 1
  end,
  -- 2 push: group, number of items, command, list, items
  function(p)
    local last = p + 3 + b[p + 1]
    push(b[p], b[p + 2], b[p + 3], p + 4, last)
    return last + 1
  end,
  -- 3 release: key, member
  function(p)
    local key, owner, queue = b[p], true, heldQueue
    if heldKey ~= key then
      local _
      owner, _, queue = leaseOf(key)
    end
    heldKey = nil
    if owner then
      unlease(b[p + 1], queue)
      call('HDEL', key, 'lease_owner', 'lease_queue')
    end
    return p + 2
  end,
  -- 4 settle: item
  function(p)
    lives[b[p]] = false
    return p + 1
  end,
  -- 5 live: item, ms
  function(p)
    lives[b[p]] = b[p + 1]
    return p + 2
  end,
  -- 6 set alarm: member, ms
  function(p)
    alarms[b[p]] = b[p + 1]
    return p + 2
  end,
  -- 7 clear alarm: member
  function(p)
    alarms[b[p]] = false
    return p + 1
  end,
  -- 8 add: key, field, n
  function(p)
    add(b[p], b[p + 1], b[p + 2])
    return p + 3
  end,
  -- 9 countdown: key, field, group, list, item, length or 0, HSET
  function(p)
    local last = p + 5 + b[p + 5]
    if call('EXISTS', b[p]) == 1 and add(b[p], b[p + 1], -1) == 0 then
      if b[p + 5] > 0 then call(unpack(b, p + 6, last)) end
      push(b[p + 2], 'RPUSH', b[p + 3], p + 4, p + 4)
    end
    return last + 1
  end,
  -- 10 delete: key, item, member
  function(p)
    put(b[p])
    endLease(b[p], b[p + 2])
    call('UNLINK', b[p])
    lives[b[p + 1]], kinds[b[p]] = false, nil
    return p + 3
  end,
  -- 11 unset: key, member, length, HDEL
  function(p)
    local last = p + 2 + b[p + 2]
    local owner, _, queue = leaseOf(b[p])
    call(unpack(b, p + 3, last))
    if owner and call('EXISTS', b[p]) == 0 then
      unlease(b[p + 1], queue)
      if heldKey == b[p] then heldKey = nil end
    end
    return last + 1
  end,
  -- 12 append: group, list, how many stay, number of items, items
  function(p)
    local list, most, last = b[p + 1], b[p + 2], p + 3 + b[p + 3]
    if b[p + 3] > 0 then push(b[p], 'RPUSH', list, p + 4, last) end
    put(list)
    if most == 0 then
      call('UNLINK', list)
    else
      call('LTRIM', list, -most, -1)
    end
    return last + 1
  end,
  -- 13 drop: list, number of items, items
  function(p)
    local last = p + 1 + b[p + 1]
    put(b[p])
    for i = p + 2, last do call('LREM', b[p], 0, b[i]) end
    return last + 1
  end,
  -- 14 expire: length, command
  function(p)
    local last = p + b[p]
    put(b[p + 2])
    call(unpack(b, p + 1, last))
    return last + 1
  end,
  -- 15: the space's limits have changed
  function(p)
    unparks[space] = (unparks[space] or 0) + 1024
    return p
  end,
  -- 16: nothing; it carries a check
  function(p) return p end,
}
acts[17] = acts[14] -- trim: length, command

-- keyOf is where an operation names the key that it changes, from its code on.
local keyOf = { 3, 4, 1, [8] = 1, [9] = 1, [10] = 1, [11] = 1, [12] = 2, [13] = 1, [17] = 3 }

local function note(p)
  local code = b[p]
  local i = keyOf[code]
  if not i then return end
  changed(space, pfx, b[p + i])
  if code == 9 then changed(space, pfx, b[p + 4]) end
end

-- Careful batches: where operations depend on each other in ways that cannot
-- be judged beforehand, each is checked when its turn comes (its checks stand
-- before it, after their number), and copies of all keys take everything back.

local function copies(p, n)
  local out = {}
  for i = 1, n do
    local key = b[p + i - 1]
    local dump = call('DUMP', key)
    out[i] = { key, dump, dump and call('PEXPIRETIME', key) }
  end
  return out
end

local function restore(saved)
  for _, c in ipairs(saved) do
    call('UNLINK', c[1])
    if c[2] then call('RESTORE', c[1], math.max(c[3], 0), c[2], 'ABSTTL') end
  end
end

local function step(p)
  local bad
  for _ = 1, b[p] do
    p, bad = checks[b[p + 1]](p + 2, 0)
    if bad then return p, bad end
    p = p - 1
  end
  p = p + 1
  local code = b[p]
  local key = (code == 1 or code == 8 or code == 9) and b[p + keyOf[code]]
  local after = acts[code](p + 1)
  if key and code ~= 1 or code == 1 and b[p + 2] == 'HSET' then
    if not staysSmall(key, 0) then bad = tooLarge(key, 0, {}) end
  end
  return after, bad
end

local function careful(p, n, ncopies)
  finish()
  at(space)
  local saved = copies(p, ncopies)
  local bad
  p = p + ncopies
  for _ = 1, n do
    p, bad = step(p)
    if bad then break end
  end
  if not bad then return end
  restore(saved)
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
    p, bad = guards[b[p]](p + 1)
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
    p, bad = checks[b[p]](p + 1, first)
    if bad then return bad end
  end
  local watched = listening()
  for _ = 1, b[5] do
    if watched then note(p) end
    p = acts[b[p]](p + 1)
  end
end

for i = 3, #ARGV do
  b = unp(ARGV[i])
  local bad = commit()
  if bad then fails[#fails + 1], fails[#fails + 2] = i - 3, bad end
end
finish()
if earliest then call('PUBLISH', 'ramet:alarm', ARGV[2] .. '|' .. earliest) end
local out = tell()
if #fails == 0 and #out == 0 and not earliest then return false end
return pack({ fails, out, earliest or '' })
