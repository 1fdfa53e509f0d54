"""Search in imperfect-information games: the orders of Tables 5.1 and 5.4 of Brown's thesis, on flop hold'em that fits
two cores. `python -m studies.search_tables`; results in `docs/search-tables.md`.
"""
