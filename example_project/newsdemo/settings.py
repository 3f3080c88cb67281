"""Settings of the demo project: one line enables scrapy-simdedup, spiders tune it."""

BOT_NAME = "newsdemo"
SPIDER_MODULES = ["newsdemo.spiders"]
ROBOTSTXT_OBEY = True
LOG_LEVEL = "INFO"
# One page at a time, so that which of several copies comes first is not left to chance.
CONCURRENT_REQUESTS = 1
DOWNLOAD_DELAY = 0
# Breadth first, so that front pages come before their copies' hosts and originals before copies.
DEPTH_PRIORITY = 1
SCHEDULER_PRIORITY_QUEUE = "scrapy.pqueues.ScrapyPriorityQueue"
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"

ADDONS = {"scrapy_simdedup.Addon": 500}
