"""Strategies that think at the table: nested safe search and depth-limited search, over what searches share."""
