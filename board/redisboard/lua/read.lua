-- Reads, and the counters of Next. ARGV[3] says what, ARGV[4] in which space;
-- see read.go.

local what, space = ARGV[3], tonumber(ARGV[4])
local pfx = prefix(space)

local holds = { hash = 'record', list = 'list', set = 'set', zset = 'index of the board', string = 'string' }

-- wrong says what a key holds that should hold another kind of thing.
local function wrong(want, key)
  local is = call('TYPE', pfx .. key).ok
  return string.format('"%s" is a %s, not a %s', key, holds[is] or is, want)
end

-- ask calls a command on a key that must hold a certain kind of thing.
local function ask(want, cmd, key, ...)
  local r = try(cmd, pfx .. key, ...)
  if type(r) ~= 'table' or not r.err then return r end
  error({ err = 'KIND ' .. wrong(want, key) })
end

-- askRecord calls a command on a key that should hold a record. Where it holds
-- another thing, the others are read all the same: bad is the array of one text
-- that stands for it.
local function askRecord(cmd, key, ...)
  local r = try(cmd, pfx .. key, ...)
  if type(r) ~= 'table' or not r.err then return r end
  if call('TYPE', pfx .. key).ok == 'hash' then error(r) end
  return nil, { wrong('record', key) }
end

-- Records, as MessagePack: one string costs less to hand over than many. What is
-- none is an array of one text, which says so.
local function get()
  local out = {}
  for i = 5, #ARGV do
    local rec, bad = askRecord('HGETALL', ARGV[i])
    out[i - 4] = rec or bad
  end
  return pack(out)
end

-- fields is get for some fields: ARGV[5] says how many, then come their names,
-- then the keys. A record that has none of them is one number, to be told from
-- none at all.
local function fields()
  local first = 6 + tonumber(ARGV[5])
  local names, out = {}, {}
  for i = 6, first - 1 do names[i - 5] = ARGV[i] end
  for i = first, #ARGV do
    local rec, values, n, bad = {}, {}, nil, nil
    if #names > 0 then values, bad = askRecord('HMGET', ARGV[i], unpack(names)) end
    for j, value in ipairs(values or {}) do
      if value then rec[#rec + 1], rec[#rec + 2] = names[j], value end
    end
    if #rec == 0 and not bad then
      n, bad = askRecord('HLEN', ARGV[i])
      if n and n > 0 then rec[1] = 1 end
    end
    out[i - first + 1] = bad or rec
  end
  return pack(out)
end

local function list()
  local from, n = tonumber(ARGV[6]), tonumber(ARGV[7])
  if from < 0 then from = math.max(0, ask('list', 'LLEN', ARGV[5]) + from) end
  return ask('list', 'LRANGE', ARGV[5], from, from + n - 1)
end

local function len()
  local out = {}
  for i = 5, #ARGV do out[i - 4] = ask('list', 'LLEN', ARGV[i]) end
  return out
end

-- stat returns what each key holds and the milliseconds left to it.
local function stat()
  local out = {}
  for i = 5, #ARGV do
    local key = pfx .. ARGV[i]
    out[#out + 1], out[#out + 2] = call('TYPE', key).ok, call('PTTL', key)
  end
  return out
end

local function members()
  return ask('set', 'SSCAN', ARGV[5], ARGV[6], 'COUNT', ARGV[7] or 1000)
end

-- keys returns cursor, keys and kinds, so that the board's own can be left out.
local function keys()
  local page = call('SCAN', ARGV[5], 'MATCH', ARGV[6], 'COUNT', ARGV[7])
  local out = {}
  for _, key in ipairs(page[2]) do
    local kind = call('TYPE', key).ok
    if kind == 'hash' or kind == 'list' or kind == 'set' then out[#out + 1] = key end
  end
  return { page[1], out }
end

-- page pages a sorted set by (instant, member): the place after the given one is found
-- by bisection, because that itself may be gone.
local function page(key, ms, item, limit)
  local lo = 0
  if ms ~= '' then
    lo = call('ZCOUNT', key, '-inf', '(' .. ms)
    local hi = lo + call('ZCOUNT', key, ms, ms)
    while lo < hi do
      local mid = math.floor((lo + hi) / 2)
      if call('ZRANGE', key, mid, mid)[1] <= item then lo = mid + 1 else hi = mid end
    end
  end
  return call('ZRANGE', key, lo, lo + limit - 1, 'WITHSCORES')
end

local function live() return page(pfx .. 'ramet:live', ARGV[5], ARGV[6], tonumber(ARGV[7])) end

-- walkAlarms pages through all alarms of the board.
local function walkAlarms() return page('ramet:alarms', ARGV[5], ARGV[6], tonumber(ARGV[7])) end

local function counters() return call('HGETALL', pfx .. 'ramet:counters') end

-- spaces are those in which something was committed, and the known contexts.
local function spaces() return { call('ZRANGE', 'ramet:changed', 0, -1), call('SMEMBERS', 'contexts') } end

-- another reports whether the process is not the one that was recognised last. Where a table
-- lies in its memory tells most apart, for a fraction of what asking for the run_id costs.
local function another() return call('HGET', 'ramet:board', 'process') ~= tostring(redis) end

-- nextNumber also returns how many numbers were given out of all counters. The caller says
-- what an answered write survives and of how many it knows (ARGV[5], ARGV[6]): by that a
-- server that was set back is told before it gives out one. Of very many, which exhaust a
-- counter, a part counts.
local function nextNumber()
  local heard, counters, n = tonumber(ARGV[6]), pfx .. 'ramet:counters', tonumber(ARGV[8])
  if another() then recognise(ARGV[5], heard, 0) end
  local counts = math.min(n, 2 ^ 32)
  local sum = try('HINCRBY', 'ramet:board', 'given', counts)
  if type(sum) ~= 'number' or sum - counts < heard then -- or others have written there
    recognise(ARGV[5], heard, type(sum) == 'number' and counts or 0)
    sum = call('HINCRBY', 'ramet:board', 'given', counts)
  end
  at(space)
  return { call('HINCRBY', counters, ARGV[7], ARGV[8]), sum }
end

-- last is the number that a counter has given out last.
local function last() return tonumber(call('HGET', pfx .. 'ramet:counters', ARGV[5]) or '0') end

-- time returns the time, and how many numbers were given out; it is called as nextNumber is.
local function time()
  local heard, given = tonumber(ARGV[6]), call('HGET', 'ramet:board', 'given')
  if another() or (whole(given) or 0) < heard then
    recognise(ARGV[5], heard, 0)
    given = call('HGET', 'ramet:board', 'given')
  end
  local t = call('TIME')
  return { t[1], t[2], given or '0' }
end

local function alarm()
  at(0)
  return call('ZSCORE', 'ramet:alarms', space .. '|' .. ARGV[5])
end

-- alarms: those that have come, the time, and when the next one comes.
local function alarms()
  local now = clock()
  local out = call('ZRANGE', 'ramet:alarms', '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[5], 'WITHSCORES')
  local first = call('ZRANGE', 'ramet:alarms', 0, 0, 'WITHSCORES')[2] or ''
  return { string.format('%.0f', now), first, out }
end

-- ready returns the spaces in which one of the group's lists (ARGV[6..]) has something.
local function ready()
  local group, out = ARGV[5], {}
  for _, index in ipairs({ 'ramet:ready:', 'ramet:parked:' }) do
    at(0)
    for _, s in ipairs(call('ZRANGE', index .. group, 0, -1)) do
      s = tonumber(s)
      at(s)
      local names, p = {}, prefix(s)
      for i = 6, #ARGV do names[#names + 1] = p .. ARGV[i] end
      if filled(names) then out[#out + 1] = s end
    end
  end
  return out
end

-- touch puts spaces in the ready index whose lists have something: ARGV[5] is
-- the group, ARGV[6] how many of its lists follow, then spaces. Parked spaces
-- among them get a chance, in case their limits have changed unseen. It
-- returns how many claims are worth waking: as many as have something.
local function touch()
  local group, n, some = ARGV[5], tonumber(ARGV[6]), 0
  for i = 7 + n, #ARGV do
    local s = tonumber(ARGV[i])
    at(s)
    local names, p = {}, prefix(s)
    for j = 1, n do names[j] = p .. ARGV[6 + j] end
    if filled(names) then
      at(0)
      if enter(group, s) then woken[group] = (woken[group] or 0) + 1 end
      unpark(s, 1)
      some = some + 1
    end
  end
  tell()
  return some
end

-- changed returns the number of changes so far, and the spaces that were changed
-- after that of ARGV[5]; only the number, where that was never reached, and only '' where
-- others have written there.
local function changed()
  local n, since = call('HGET', 'ramet:board', 'changes') or '0', tonumber(ARGV[5])
  if not n:match('^%d+$') then return { '' } end
  if not since or since > tonumber(n) then return { n } end
  local spaces = try('ZRANGE', 'ramet:changed', '(' .. ARGV[5], '+inf', 'BYSCORE')
  if spaces.err then return { '' } end
  return { n, spaces }
end

-- identity returns the board's id: that of ARGV[5], if it has none yet.
local function identity()
  if not call('HGET', 'ramet:board', 'id') then call('HSET', 'ramet:board', 'id', ARGV[5]) end
  return call('HGET', 'ramet:board', 'id')
end

-- databases finds out how many there are, up to ARGV[5], where CONFIG is not
-- allowed.
local function databases()
  local n = 1
  while n < tonumber(ARGV[5]) and not try('SELECT', n * 2 - 1).err do n = n * 2 end
  local step = n / 2
  while step >= 1 do
    if not try('SELECT', n + step - 1).err then n = n + step end
    step = step / 2
  end
  return n
end

local acts = {
  get = get, fields = fields, list = list, len = len, stat = stat, members = members, keys = keys, live = live, next = nextNumber, last = last,
  alarm = alarm, alarms = alarms, ready = ready, changed = changed, walkAlarms = walkAlarms, counters = counters, spaces = spaces, touch = touch, databases = databases,
  identity = identity, time = time,
}
if what ~= 'alarms' and what ~= 'databases' and what ~= 'next' then at(space) end
return acts[what]()
