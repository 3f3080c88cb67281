"""Pages that lie on disk."""
