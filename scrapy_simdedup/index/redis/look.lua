-- Look at all that a judgement needs; and claim, if that is as it was when it was decided.
--
-- KEYS: meta, live, notices, run, open, held, memory; the buckets of exact keys, of ranges, and of
--   rows to store.
-- ARGV: id; what page keys begin with; how many exact keys, how many of those (the first ones)
--   are names, whose pages come with their records, and how many rows with another one are
--   looked at; how many ranges, the length of a row there, and how many rows there are looked at.
--   Then the starts of the exact keys. To claim, then: the stamp of the look that was decided by
--   ('' for none), the token of this step, the number of rows, of how many (the first ones) there
--   may be any number of equal ones, the record, and its time to live in ms (0: for ever); the
--   starts of the rows.
-- Returns: the page's number; or, without a claim: stamp, live runs, notices, what the memory
--   holds, {exact key, pages, ...}, {page, record, ...}, {bucket, ...} of the ranges.

local FIXED_KEYS, FIXED = 7, 8

if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then
  return redis.error_reply('GONE')
end
local exact, named, most_equal = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local ranges, range_bytes = tonumber(ARGV[6]), ARGV[7] * ARGV[8]
local at = FIXED + exact
local claiming = #ARGV > at
local stamp, token = ARGV[at + 1], ARGV[at + 2]

if claiming and redis.call('HGET', KEYS[4], 'token') == token then
  -- The answer got lost on its way.
  return tonumber(redis.call('HGET', KEYS[4], 'result'))
end

local function number(packed)
  local value = 0
  for place = 1, PAGE do
    value = value * 256 + string.byte(packed, place)
  end
  return string.format('%.0f', value)
end

local function packed(value)
  local bytes = {}
  for place = PAGE, 1, -1 do
    bytes[place] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(bytes)
end

local hits, seen, contents = {}, {}, {}
for i = 1, exact do
  local bucket = redis.call('GET', KEYS[FIXED_KEYS + i])
  contents[KEYS[FIXED_KEYS + i]] = bucket
  if bucket then
    local found, count = pages(bucket, ARGV[FIXED + i], i <= named and math.huge or most_equal)
    if count > 0 then
      hits[#hits + 1] = i
      hits[#hits + 1] = found
    end
  end
end
seen[1] = table.concat(hits, ' ')
for i = 1, ranges do
  -- Only claims add rows here, so that the newest page tells whether any were added.
  seen[1 + i] = redis.call('GETRANGE', KEYS[FIXED_KEYS + exact + i], -PAGE, -1)
end
local now = redis.sha1hex(table.concat(seen, ','))

if not claiming or (stamp ~= '' and stamp ~= now) then
  local records, buckets = {}, {}
  for i = 1, #hits, 2 do
    if hits[i] <= named then
      for from = 1, #hits[i + 1], PAGE do
        local page = number(string.sub(hits[i + 1], from, from + PAGE - 1))
        records[#records + 1] = page
        records[#records + 1] = redis.call('GET', ARGV[2] .. page)
      end
    end
  end
  for i = 1, ranges do
    buckets[i] = redis.call('GETRANGE', KEYS[FIXED_KEYS + exact + i], -range_bytes, -1)
  end
  local memory = KEYS[7] ~= '' and redis.call('GET', KEYS[7])
  local live = redis.call('ZRANGE', KEYS[2], 0, -1)
  return {now, live, redis.call('LLEN', KEYS[3]), memory, hits, records, buckets}
end

local rows, free = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
local record, life = ARGV[at + 5], tonumber(ARGV[at + 6])

-- Remove the rows of pages that have grown too old, and are gone.
local function sweep(bucket, size)
  local content, kept = redis.call('GET', bucket), {}
  for from = 1, #content, size do
    local row = string.sub(content, from, from + size - 1)
    local page = number(string.sub(row, -PAGE))
    if redis.call('EXISTS', ARGV[2] .. page) == 1 then
      kept[#kept + 1] = row
    else
      redis.call('SETBIT', KEYS[6], page, 0)
    end
  end
  redis.call('SET', bucket, table.concat(kept))
end

local page = redis.call('HINCRBY', KEYS[1], 'pages', 1)
local key = ARGV[2] .. string.format('%.0f', page)
if life > 0 then
  redis.call('SET', key, record, 'PX', life)
else
  redis.call('SET', key, record)
end
for i = 1, rows do
  local bucket, start = KEYS[FIXED_KEYS + exact + ranges + i], ARGV[at + 6 + i]
  local room = true
  if i > free then
    local content = contents[bucket]
    if content == nil then content = redis.call('GET', bucket) end
    if content then
      local _, count = pages(content, start, most_equal)
      room = count < most_equal
    end
  end
  if room then
    local size = #start + PAGE
    local count = redis.call('APPEND', bucket, start .. packed(page)) / size
    -- Whenever it has doubled: so that this costs little, and half of it is alive at least.
    if life > 0 and count >= 8 and bit.band(count, count - 1) == 0 then sweep(bucket, size) end
  end
end
redis.call('SETBIT', KEYS[6], page, 1)
redis.call('SADD', KEYS[5], page)
redis.call('HSET', KEYS[4], 'token', token, 'result', page)
return page
