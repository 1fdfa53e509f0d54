"""Blueprints: strategies for a whole game, trained ahead, and what play asks of them.

cards       which hands a blueprint plays alike on a board
tree        the betting, by a menu of sizes
boards      final boards, dealt and ready for walks; shared by training and play
storage     the file: `rounding` makes its 8 bits, `container` its bytes; `shipped` is the one that comes with Paratus
lookup      from what both players see to what the blueprint does; `translation` of sizes that it does not have
values      what its play is worth: roll-outs, leaves of depth-limited games, values of buckets
learned     a network in their place
train       how it was made; nothing above imports it, only the command line does
"""
