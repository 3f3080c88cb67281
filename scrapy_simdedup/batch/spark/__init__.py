"""The same decisions as ``scan``, for more pages than one machine holds: a Spark job.

Needs the extra ``spark``, and Java 17 or newer.
"""

from scrapy_simdedup.batch.spark.job import Deduplicated, deduplicate

__all__ = ["Deduplicated", "deduplicate"]
