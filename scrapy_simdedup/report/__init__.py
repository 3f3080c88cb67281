"""The report: one HTML file that shows a person what was decided, and whether the limits suit.

``data`` reads an index, ``page`` writes the file. What is read is counted in SQL or bounded, and
what is bounded says so.
"""
