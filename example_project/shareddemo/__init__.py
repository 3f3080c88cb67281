"""Two crawlers with one queue (scrapy-redis) and one index of near-duplicates, in one Redis."""
