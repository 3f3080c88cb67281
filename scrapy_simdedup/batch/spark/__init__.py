"""The same decisions as ``scan``, for more pages than one machine holds: a Spark job.

Needs the extra ``spark``, and Java 17 or newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_simdedup.batch.spark.job import Deduplicated, deduplicate

__all__ = ["Deduplicated", "deduplicate"]


def __getattr__(name: str) -> Any:
    # Late: the command says what to install where PySpark is not there.
    if name in __all__:
        from scrapy_simdedup.batch.spark import job

        return getattr(job, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
