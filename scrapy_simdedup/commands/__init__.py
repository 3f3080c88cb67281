"""The subcommands of ``scrapy simdedup``, one module each.

Whatever is heavy is imported in their functions: Scrapy loads these modules at every call.
"""
