"""External sampling: a board and one hand for each player are dealt."""
