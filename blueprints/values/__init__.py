"""What a blueprint's play is worth: roll-outs, leaves of depth-limited games, values of buckets."""
