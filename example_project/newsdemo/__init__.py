"""The example project: a small invented news site and what crawls it."""
