"""Strategies that think at the table: nested safe search of the turn and the river."""
