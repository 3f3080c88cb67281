-- Change what is stored, if the records that it was decided by are still the same.
--
-- KEYS: meta, run.
-- ARGV: id; the token of this step ('' for one that may be made twice), and the page it is about;
--   the number of records, of each its key and the SHA-1 of its bytes; then commands, each after
--   the number of its words.
-- Returns: 1 where it was done, 0 where a record is not the same any more.

if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then
  return redis.error_reply('GONE')
end
local token, checks = ARGV[2], tonumber(ARGV[4])
if token ~= '' and redis.call('HGET', KEYS[2], 'token') == token then
  return 1
end
for i = 1, checks do
  local record = redis.call('GET', ARGV[3 + 2 * i])
  if not record or redis.sha1hex(record) ~= ARGV[4 + 2 * i] then return 0 end
end

local own = {}

-- Remove a row from a bucket.
function own.CUT(key, row)
  local bucket = redis.call('GET', key)
  local at = bucket and place(bucket, row, #row, 1)
  if not at then return end
  local rest = string.sub(bucket, 1, at - 1) .. string.sub(bucket, at + #row)
  if rest == '' then
    redis.call('DEL', key)
  else
    redis.call('SET', key, rest)
  end
end

-- Tell the logs that hold copies that what they lean on is gone; of one run's copies, or of all.
function own.NOTIFY(copies, notices, run)
  for _, copy in ipairs(redis.call('LRANGE', copies, 0, -1)) do
    local log, whose = string.match(copy, '^(%S+) (%S+)')
    if run == '' or run == whose then
      redis.call('RPUSH', notices .. log, copy)
      redis.call('LREM', copies, 0, copy)
    end
  end
end

local at = 5 + 2 * checks
while at <= #ARGV do
  local words = {unpack(ARGV, at + 1, at + tonumber(ARGV[at]))}
  if own[words[1]] then
    own[words[1]](unpack(words, 2))
  else
    redis.call(unpack(words))
  end
  at = at + 1 + tonumber(ARGV[at])
end
if token ~= '' then redis.call('HSET', KEYS[2], 'token', token, 'result', ARGV[3]) end
return 1
