"""Many matches by one plan, and who is better than whom."""
