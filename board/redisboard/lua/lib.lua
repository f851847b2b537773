-- What every script shares. ARGV[1] is the tenancy, ARGV[2] the name of a board
-- that needs no message about what the script returns anyway. Members of node-wide sorted sets are "<space>|<name>".
-- After the tenancy stand ":" and the id of the board that the caller opened, once
-- it knows it; then, where the server has just got the script or was just looked at, "!"
-- and what an answered write survives there, "+" and how many numbers the caller knows to
-- have been given out.

local call, try = redis.call, redis.pcall
local pack, unp = cmsgpack.pack, cmsgpack.unpack
local tenancy, known, new = ARGV[1]:match('^(%a+):?(%w*)(!?)')
local prefixed = tenancy == 'prefix'

-- at makes the space's database the current one. What a script selects does
-- not outlive it.
local db = 0
local function at(space)
  if db ~= space and not prefixed then
    call('SELECT', space)
    db = space
  end
end

local function prefix(space)
  if prefixed and space ~= 0 then return 'ctx:' .. space .. ':' end
  return ''
end

-- split takes "<space>|<name>" apart.
local function split(member)
  local i = member:find('|', 1, true)
  if not i then return nil end
  return tonumber(member:sub(1, i - 1)), member:sub(i + 1)
end

local function clock()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- whole is a decimal number of a field, or nil.
local function whole(text)
  if text and text:match('^[+-]?%d+$') then return tonumber(text) end
end

-- skip lets the counters of a space go on beyond what may have been given out.
-- Contexts are numbered databases, and those are few.
local function skip(space, leap)
  if not prefixed and try('SELECT', space).err then return end
  db = space
  local counters = prefix(space) .. 'ramet:counters'
  local names = try('HKEYS', counters)
  for _, name in ipairs(names.err and {} or names) do
    if prefixed or name ~= 'ramet:seq:context' then try('HINCRBY', counters, name, leap) end
  end
end

local function skipAll(leap)
  leap = string.format('%.0f', leap)
  skip(0, leap)
  at(0)
  for _, space in ipairs(call('SMEMBERS', 'contexts')) do
    local n = whole(space)
    if n and n > 0 then skip(n, leap) end
    at(0)
  end
end

-- begin begins an epoch: counters go on by leap, and so many count as given out
-- that what others know is less, if they know of nothing but what is lost.
local function begin(leap, given, cause)
  skipAll(leap)
  call('HSET', 'ramet:board', 'given', string.format('%.0f', given + epochLeap))
  try('HINCRBY', 'ramet:epoch', 'number', 1)
  try('HSET', 'ramet:epoch', 'at_ms', string.format('%.0f', clock()), 'cause', cause)
end

-- recognise looks whether the server has what it had. One that has given out fewer
-- numbers than the caller knows of was set back, however that came about; this call has
-- counted some already. Another process has what lay on its disk: unless each answered
-- write did, some may be lost. In both cases a new epoch begins. Where each did, numbers go
-- on a little further all the same: the disk may be a copy that is older than what the
-- caller has not heard of yet.
local function recognise(survives, heard, counted)
  local id, process = call('INFO', 'server'):match('run_id:(%x+)'), tostring(redis)
  local was = call('HMGET', 'ramet:board', 'run_id', 'survives', 'process', 'given')
  local given, other = (whole(was[4]) or 0) - counted, was[1] and was[1] ~= id
  local lost = math.max(heard - given, 0)
  local replaced = other and (was[2] ~= 'disk' or not call('INFO', 'replication'):match('master_replid2:0+%s'))
  if lost > 0 or replaced then
    local leap = epochLeap
    if lost > leap / 2 then leap = leap + math.min(lost, mostLost) end -- the rest is for what nobody here knows of
    begin(leap, given + lost, replaced and 'redis was restarted or replaced' or 'redis has less than it had: it was set back to an older copy')
  elseif other then
    skipAll(restartLeap)
  end
  if was[1] ~= id or new == '!' and was[2] ~= survives then call('HSET', 'ramet:board', 'run_id', id, 'survives', survives) end
  if was[3] ~= process then call('HSET', 'ramet:board', 'process', process) end
end

-- bulk calls a command with many arguments, as many at once as Lua can pass,
-- and sums what it returns. A chunk is even: pairs stay together.
local function bulk(cmd, key, list)
  local n, sum = #list, 0
  for i = 1, n, 4000 do
    sum = sum + call(cmd, key, unpack(list, i, math.min(i + 3999, n)))
  end
  return sum
end

-- filled reports whether one of the lists has something, whatever else may lie
-- under such a name.
local function filled(keys)
  if call('EXISTS', unpack(keys)) == 0 then return false end
  for _, key in ipairs(keys) do
    local n = try('LLEN', key)
    if type(n) == 'number' and n > 0 then return true end
  end
  return false
end

-- The ready index. A space is in ramet:ready:<group> while it has something,
-- in ramet:parked:<group> instead while a cap holds it back. Who was served
-- and has nothing left keeps its pass in ramet:away:<group> for as long as
-- that is ahead of the group's (ramet:turn).

local capped -- whether any space is parked; nil: not asked yet
local function anyCapped()
  if capped == nil then capped = call('HLEN', 'ramet:capped') > 0 end
  return capped
end

local function enterAt(group, space, own)
  local pass = tonumber(call('HGET', 'ramet:turn', group) or 0)
  if own and tonumber(own) > pass then pass = tonumber(own) end
  call('ZADD', 'ramet:ready:' .. group, pass, space)
end

-- enter makes a space ready, unless it is or a cap holds it back. Database 0
-- must be current.
local function enter(group, space)
  if call('ZSCORE', 'ramet:ready:' .. group, space) then return false end
  if anyCapped() and call('ZSCORE', 'ramet:parked:' .. group, space) then return false end
  enterAt(group, space, call('ZSCORE', 'ramet:away:' .. group, space))
  return true
end

local woken = {} -- group -> how many claims are worth waking

-- unpark gives a space its turns back; a claim parks it again if a cap still
-- holds it. Database 0 must be current.
local function unpark(space, slots)
  if not anyCapped() then return end
  local groups = call('HGET', 'ramet:capped', space)
  if not groups then return end
  call('HDEL', 'ramet:capped', space)
  for _, group in ipairs(cjson.decode(groups)) do
    local own = call('ZSCORE', 'ramet:parked:' .. group, space)
    if own then
      call('ZREM', 'ramet:parked:' .. group, space)
      enterAt(group, space, own)
      woken[group] = (woken[group] or 0) + slots
    end
  end
end

-- Watchers that cannot have keyspace events listen on ramet:changes. Nothing
-- is said where nobody listens.
local changes, listened = {}, nil
local function listening()
  if listened == nil then
    listened = call('PUBSUB', 'NUMSUB', 'ramet:changes')[2] > 0
  end
  return listened
end

local function changed(space, pfx, key)
  changes[space .. '|' .. key:sub(#pfx + 1)] = true
end

-- tell publishes what claims and watchers wait for, and returns the woken
-- groups with their counts.
local function tell()
  local out = {}
  for group, n in pairs(woken) do
    out[#out + 1], out[#out + 2] = group, n
    call('PUBLISH', 'ramet:wake', ARGV[2] .. '|' .. n .. '|' .. group)
  end
  for change in pairs(changes) do call('PUBLISH', 'ramet:changes', change) end
  return out
end

-- recount counts a space's leases anew. It is needed only after somebody else
-- has deleted or written over leased records.
local function recount(space)
  at(0)
  local mine, start = {}, space .. '|'
  for _, member in ipairs(call('ZRANGE', 'ramet:leases', 0, -1)) do
    if member:sub(1, #start) == start then mine[#mine + 1] = member end
  end
  at(space)
  local pfx, counts, stale = prefix(space), {}, {}
  for _, member in ipairs(mine) do
    local f = try('HMGET', pfx .. member:sub(#start + 1), 'lease_owner', 'lease_queue')
    if f.err or not f[1] or not f[2] then
      stale[#stale + 1] = member
    else
      counts[f[2]] = (counts[f[2]] or 0) + 1
    end
  end
  call('DEL', pfx .. 'ramet:running')
  for queue, n in pairs(counts) do call('HSET', pfx .. 'ramet:running', queue, n) end
  at(0)
  if #stale > 0 then bulk('ZREM', 'ramet:leases', stale) end
  unpark(space, 1)
end

-- A server that was emptied is no new board to who knew the old one: it would give
-- out the same numbers again.
if known ~= '' and call('HGET', 'ramet:board', 'id') ~= known then
  return { err = 'GONE the board is not there' }
end
if new ~= '' then
  local survives, heard = ARGV[1]:match('!(%a*)%+(%d+)$')
  recognise(survives, tonumber(heard), 0)
end
