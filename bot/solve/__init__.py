"""Studying one spot: what is asked, the files it is kept in, and how the answer is shown. `command` is the entry."""
