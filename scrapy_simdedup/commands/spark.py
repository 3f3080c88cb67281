"""``scrapy simdedup spark``: judge an archive, with Spark."""

from __future__ import annotations

import argparse
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_set, config_of
from scrapy_simdedup.commands.screen import say, summary


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "spark",
        help="judge an archive with Spark, as scan would",
        description="Judge an archive with Spark: the same decisions as scan, in the same order."
        " Runs on this machine, or where spark-submit or PYSPARK_SUBMIT_ARGS say.",
        epilog="example: scrapy simdedup spark --input pages/ --format warc --output result/",
    )
    parser.add_argument(
        "--input",
        required=True,
        nargs="+",
        dest="inputs",
        metavar="PATH",
        help="Parquet (any place that Spark can read), or what scan reads",
    )
    parser.add_argument(
        "--output", required=True, metavar="FOLDER", help="a new folder for the result"
    )
    parser.add_argument(
        "--format",
        choices=("parquet", "jsonl", "warc"),
        help="of the files in a folder; default: Parquet if there is any, else pages",
    )
    parser.add_argument(
        "--output-format", choices=("parquet", "jsonl"), default="parquet", help="default: parquet"
    )
    for name, meaning in (("url", "the URL"), ("html", "the HTML"), ("text", "the main text")):
        parser.add_argument(
            f"--{name}", default=name, metavar="COLUMN", help=f"Parquet: the column with {meaning}"
        )
    parser.add_argument(
        "--order", metavar="COLUMN", help="Parquet: the column by which pages are in order"
    )
    parser.add_argument(
        "--components", action="store_true", help="also write which pages are connected by chains"
    )
    parser.add_argument(
        "--rounds", type=int, default=100, help="how long a chain may be (default: 100)"
    )
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="Spark's configuration"
    )
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Run the job. Raises UsageError, and what else is to be mended as a SimDedupError."""
    from scrapy_simdedup.batch.spark.session import session

    config = config_of(settings)
    conf = dict(pair.partition("=")[::2] for pair in opts.conf)
    if "" in conf.values():
        raise UsageError("--conf takes NAME=VALUE")
    if opts.rounds < 1:
        raise UsageError("--rounds is at least 1")
    with session(conf) as spark:
        # Now that PySpark is known to be there.
        from scrapy_simdedup.batch.spark import results
        from scrapy_simdedup.batch.spark.job import of_analysed
        from scrapy_simdedup.batch.spark.sources import Columns, analysed

        results.refuse_existing(spark, opts.output)
        columns = Columns(opts.url, opts.html, opts.text, opts.order)
        pages = analysed(spark, opts.inputs, opts.format, columns, config)
        found = of_analysed(pages, config, opts.rounds)
        statuses, reasons = results.write(
            found, opts.output, opts.output_format, components=opts.components
        )
    say(f"{summary(statuses, reasons)}; in {found.rounds} rounds")
    if found.full_keys:
        say(
            f"{found.full_keys:,} keys have more originals than are looked at: there, scan might"
            " have decided otherwise"
        )
