"""What a match says: the hands of its logs, estimators that take the luck out of them, and how sure they are."""
