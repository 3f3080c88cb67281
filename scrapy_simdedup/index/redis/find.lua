-- Begins the scripts that read buckets. Rows of a bucket have one length, and begin with what is
-- left of their key; a page's number ends them.
local PAGE = 5

-- Where a bucket has, from some place on, a row that begins with these bytes; nil: nowhere.
local function place(bucket, start, size, from)
  while true do
    local at = string.find(bucket, start, from, true)
    if not at then return nil end
    -- Bytes that look alike may lie across two rows.
    if (at - 1) % size == 0 then return at end
    from = at + 1
  end
end

-- The pages that have rows with a key, one after the other, and their number (up to `most`).
local function pages(bucket, start, most)
  local size, found, from = #start + PAGE, {}, 1
  while #found < most do
    local at = place(bucket, start, size, from)
    if not at then break end
    found[#found + 1] = string.sub(bucket, at + #start, at + size - 1)
    from = at + size
  end
  return table.concat(found), #found
end
