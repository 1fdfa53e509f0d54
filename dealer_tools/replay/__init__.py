"""A hand of a log, step by step."""
