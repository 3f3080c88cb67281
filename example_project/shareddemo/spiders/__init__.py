"""The spider of the shared demo."""
