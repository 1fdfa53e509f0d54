"""What a trained strategy is worth: exactly, against another, against a player who learns to play against it."""
