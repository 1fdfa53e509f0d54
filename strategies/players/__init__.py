"""What agents of ours decide by; those that search stand on `strategies.search`."""
