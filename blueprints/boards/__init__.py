"""Final boards: dealt, their hands in order of strength, their buckets numbered. Training and play walk them alike."""
