-- Begin a run, in a new index where there is none.
--
-- KEYS: meta, live. ARGV: identity, schema, an id for a new index, what follows the run's number
--   among the live ones.
-- Returns: identity, schema, id, the last page; the run's number, 0 where identity or schema are
--   other ones.

local time = redis.call('TIME')
if redis.call('EXISTS', KEYS[1]) == 0 then
  -- Numbers of runs begin with the time, so that after a loss of all data none comes again.
  redis.call('HSET', KEYS[1], 'identity', ARGV[1], 'schema', ARGV[2], 'id', ARGV[3],
    'runs', time[1], 'pages', 0)
end
local found = redis.call('HMGET', KEYS[1], 'identity', 'schema', 'id', 'pages')
found[5] = 0
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then return found end
found[5] = redis.call('HINCRBY', KEYS[1], 'runs', 1)
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[2], now, string.format('%.0f', found[5]) .. ' ' .. ARGV[4])
return found
