-- Leases one by one. ARGV[3] says what:
--   extend   owner, ttl ms, then space, item, token of each
--   occupy   space, item, owner, ttl ms
--   of       space, item
--   void     owner prefix, which sorted set, then members
--   expired  limit
-- Returns depend on it; see lease.go. When a lease ends is told as ms from now: who asks may have another time.

local what = ARGV[3]
local now = clock()

local function fields(space, item, ...)
  at(space)
  return try('HMGET', prefix(space) .. item, ...)
end

local function setOf(queue) return queue and 'ramet:leases' or 'ramet:occupied' end

local function extend()
  local owner, till = ARGV[4], now + ARGV[5]
  local answers, moved = {}, { ['ramet:leases'] = {}, ['ramet:occupied'] = {} }
  for i = 6, #ARGV, 3 do
    local space, item = tonumber(ARGV[i]), ARGV[i + 1]
    local f = fields(space, item, 'lease_owner', 'attempt', 'lease_queue', 'cancel')
    if f.err or f[1] ~= owner or f[2] ~= ARGV[i + 2] then
      answers[#answers + 1] = 'l'
    else
      local m = moved[setOf(f[3])]
      m[#m + 1], m[#m + 2] = till, space .. '|' .. item
      answers[#answers + 1] = (f[4] or '') ~= '' and 'c' or 'r'
    end
  end
  at(0)
  for key, list in pairs(moved) do
    if #list > 0 then bulk('ZADD', key, list) end
  end
  return table.concat(answers)
end

local function occupy()
  local space, item, owner, till = tonumber(ARGV[4]), ARGV[5], ARGV[6], now + ARGV[7]
  local pfx, member = prefix(space), space .. '|' .. item
  local key = pfx .. item
  local f = fields(space, item, 'lease_owner', 'attempt', 'lease_queue')
  if f.err then return { 'kind', call('TYPE', key).ok } end
  at(0)
  local ends = f[1] and tonumber(call('ZSCORE', setOf(f[3]), member) or nil)
  if ends and f[1] == owner then
    call('ZADD', setOf(f[3]), till, member)
    return { 'renewed', f[2] or '0' }
  end
  if ends and ends > now then return { 'held', f[1], string.format('%.0f', ends - now) } end
  if ends and f[3] then
    call('ZREM', 'ramet:leases', member)
    at(space)
    if call('HINCRBY', pfx .. 'ramet:running', f[3], -1) <= 0 then call('HDEL', pfx .. 'ramet:running', f[3]) end
    at(0)
    unpark(space, 1)
  end
  call('ZADD', 'ramet:occupied', till, member)
  at(space)
  local token = string.format('%.0f', (whole(f[2]) or 0) + 1)
  if f[3] then call('HDEL', key, 'lease_queue') end
  call('HSET', key, 'attempt', token, 'lease_owner', owner)
  if listening() then changed(space, pfx, key) end
  tell()
  return { 'occupied', token }
end

local function leaseOf()
  local space, item = tonumber(ARGV[4]), ARGV[5]
  local f = fields(space, item, 'lease_owner', 'attempt', 'lease_queue')
  if f.err or not f[1] then return false end
  at(0)
  local ends = call('ZSCORE', setOf(f[3]), space .. '|' .. item)
  return ends and { f[1], f[2] or '0', string.format('%.0f', ends - now) }
end

local function void()
  local start, key, moved = ARGV[4], ARGV[5], {}
  for i = 6, #ARGV do
    local space, item = split(ARGV[i])
    local f = space and fields(space, item, 'lease_owner')
    if f and not f.err and f[1] and f[1]:sub(1, #start) == start then
      moved[#moved + 1], moved[#moved + 2] = now, ARGV[i]
    end
  end
  at(0)
  -- LT: what has run out before keeps its instant.
  for i = 1, #moved, 4000 do call('ZADD', key, 'XX', 'LT', unpack(moved, i, math.min(i + 3999, #moved))) end
  if #moved > 0 then call('PUBLISH', 'ramet:lapse', ARGV[2] .. '|' .. now) end
  return #moved / 2
end

local function expired()
  local limit, out, stale = tonumber(ARGV[4]), {}, {}
  local due = call('ZRANGE', 'ramet:leases', '-inf', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  for i = 1, #due, 2 do
    local space, item = split(due[i])
    local f = space and fields(space, item, 'lease_owner', 'attempt', 'lease_queue')
    if not f or f.err or not f[1] or not f[3] then
      stale[space or -1] = due[i]
    else
      for _, v in ipairs({ due[i], f[1], f[2] or '0', string.format('%.0f', due[i + 1] - now) }) do out[#out + 1] = v end
    end
  end
  -- Somebody else has deleted leased records: their slots are free again.
  for space, member in pairs(stale) do
    if space >= 0 then
      recount(space)
    else
      at(0)
      call('ZREM', 'ramet:leases', member)
    end
  end
  tell()
  at(0)
  local first = call('ZRANGE', 'ramet:leases', 0, 0, 'WITHSCORES')[2] or ''
  return { string.format('%.0f', now), first, out }
end

local acts = { extend = extend, occupy = occupy, of = leaseOf, void = void, expired = expired }
return acts[what]()
