"""From a response body to weighted terms: extract, normalise, segment, weigh."""
