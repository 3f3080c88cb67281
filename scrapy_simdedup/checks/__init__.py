"""Whether an index is sound: what is checked, what is found, and what can be repaired."""
