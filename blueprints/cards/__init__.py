"""Card abstraction: which hands a blueprint plays alike on a board.

interface    `Cards`, what a trainer and a lookup need of any abstraction
holdem       `HoldemCards`, buckets of the full game, by tables
exact        `ExactCards`, small games without abstraction
settings     `CardSettings`, how many buckets and how they are found
centroids    `Centroids`, what a blueprint file ships, and how they are computed
quality      how much is lost, to compare two abstractions
"""
