-- Tell that runs are alive.
--
-- KEYS: meta, live, dead. ARGV: id, the milliseconds without a heartbeat after which a run is
--   dead, the members of `live` that are alive.
-- Returns: those of them that are no members any more; how many runs seem to be dead.

if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then
  return redis.error_reply('GONE')
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lost = {}
for i = 3, #ARGV do
  if redis.call('ZSCORE', KEYS[2], ARGV[i]) then
    redis.call('ZADD', KEYS[2], now, ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
local silent = redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. now - ARGV[2])
return {lost, silent + redis.call('SCARD', KEYS[3])}
