"""The components that Scrapy loads."""
