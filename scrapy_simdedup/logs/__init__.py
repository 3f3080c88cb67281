"""What was decided, for people and programs."""
