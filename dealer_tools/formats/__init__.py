"""Files that hold played hands: ACPC logs, match stores, Slumbot sessions, PHH."""
