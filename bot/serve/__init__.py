"""`paratus serve`: one process that plays many matches at once, with worker processes that think for it."""
