"""Random numbers that depend on a key and on nothing else.

Every draw of a match is keyed by seed, match, hand, decision and purpose, none comes from a running generator: so the
same decision is made again when a match is resumed or replayed, whatever was drawn before it.
"""

from __future__ import annotations

from hashlib import blake2b

_WORD_BYTES = 8


class Draws:
    """The sequence of uniform numbers that belongs to a key."""

    def __init__(self, seed: int, match: str, hand: int, decision: int, purpose: str) -> None:
        self.key = seed, match, hand, decision, purpose
        """What it was made of: enough to make it again elsewhere."""
        self._hand = seed, match, hand
        self._bytes = f"{seed}\0{match!a}\0{hand}\0{decision}\0{purpose!a}".encode()
        self._block = b""
        self._at = 0
        self._blocks = 0

    def of_hand(self, purpose: str) -> Draws:
        """Draws that are the same at every decision of the hand."""
        return Draws(*self._hand, -1, purpose)

    def word(self) -> int:
        """A uniform 64-bit number."""
        if self._at >= len(self._block):
            self._block = blake2b(self._bytes, salt=self._blocks.to_bytes(8, "little")).digest()
            self._blocks += 1
            self._at = 0
        word = int.from_bytes(self._block[self._at : self._at + _WORD_BYTES], "little")
        self._at += _WORD_BYTES
        return word

    def below(self, bound: int) -> int:
        """A uniform number from 0 to `bound` - 1, without bias."""
        if not 0 < bound < 1 << 64:
            raise ValueError(f"bound {bound}: expected 1 to 2**64 - 1")
        limit = (1 << 64) - (1 << 64) % bound
        while True:
            word = self.word()
            if word < limit:
                return word % bound
