"""Settings of the shared demo: scrapy-redis holds the queue, scrapy-simdedup the index."""

import os

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")

BOT_NAME = "shareddemo"
SPIDER_MODULES = ["shareddemo.spiders"]
ROBOTSTXT_OBEY = True
LOG_LEVEL = "INFO"

# One queue, and one set of requests that were made, for all crawlers.
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
# Slowly, so that both have a part in sites as small as these, whichever starts first.
CONCURRENT_REQUESTS = 4
DOWNLOAD_DELAY = 0.5
# A crawler that has had nothing to do for so many seconds ends.
MAX_IDLE_TIME_BEFORE_CLOSE = 5

# One index for all of them, beside the keys of scrapy-redis.
ADDONS = {"scrapy_simdedup.Addon": 500}
SIMDEDUP_INDEX = f"{REDIS_URL}?prefix=dedup:%(spider)s"
SIMDEDUP_ACTION = "drop-items"
SIMDEDUP_CALLBACKS = ["parse_article"]
# Both are on one machine here, which may be a small one.
SIMDEDUP_TIMEOUT = 60
