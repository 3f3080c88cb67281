"""Where a crawler's index lies, and which job its runs belong to."""

from __future__ import annotations

import uuid
from pathlib import Path

from scrapy.crawler import Crawler
from scrapy.utils.job import job_dir
from scrapy.utils.project import data_path

from scrapy_simdedup.config import Config
from scrapy_simdedup.index.redis.address import is_address
from scrapy_simdedup.logs.export import file_name
from scrapy_simdedup.parse import filled


def index_and_log(config: Config, crawler: Crawler) -> tuple[str, Path]:
    """Return where a crawler's index lies: relative paths are under ``.scrapy/simdedup``.

    The second is where the log of decisions does, if the index is in Redis.
    """
    spider = crawler.spider
    name = file_name((spider.name if spider else crawler.spidercls.name) or "")
    place = filled(config.index, name)
    index = place if is_address(place) else str(located(Path(place)))
    return index, located(Path(f"{name}-log.db"))


def located(path: Path) -> Path:
    """Return where an index of ``SIMDEDUP_INDEX`` lies."""
    if path.parts[0] == ".scrapy":
        path = Path(*path.parts[1:])
    elif not path.is_absolute():
        path = Path("simdedup", path)
    return Path(data_path(path)).absolute()


def job_name(crawler: Crawler) -> str:
    """Return the name of the job that a JOBDIR stands for, which its runs have in common."""
    folder = job_dir(crawler.settings)
    if not folder:
        return ""
    path = Path(folder, "simdedup.job")
    if not path.exists():
        path.write_text(uuid.uuid4().hex, encoding="ascii")
    return path.read_text(encoding="ascii")
