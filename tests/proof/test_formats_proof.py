"""A million random hands through every format and back: log lines, Slumbot's replies, hand histories, and pokerkit."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random

import pytest
from played_hands import random_record
from pokerkit import HandHistory

from dealer_tools.formats.phh import hand_text, parse_hand
from dealer_tools.formats.slumbot import betting_to_text, hand_line, parse_reply, read_betting, reply_of, slumbot_game
from protocol.log import parse_state_line, state_line

pytestmark = pytest.mark.proof

SHARES, HANDS = 20, 50_000
"""Together a million."""
PHH_EVERY, POKERKIT_EVERY = 20, 200
"""Those take longer."""


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("share", range(SHARES))
def test_random_hands(share):
    assert SHARES * HANDS == 1_000_000
    game, rng, showdowns = slumbot_game(), Random(f"formats {share}"), 0
    for hand in range(HANDS):
        names = ("paratus", "slumbot") if hand % 2 else ("slumbot", "paratus")
        record = random_record(rng, game, hand, names)
        showdowns += record.state.showdown
        line = state_line(record)
        read = parse_state_line(line, game)
        assert read == record
        assert read_betting(betting_to_text(read.state)) == record.state
        reply = json.loads(hand_line(hand, reply_of(read)))["reply"]
        assert parse_reply(reply, hand).record == record
        if hand % PHH_EVERY == 0:
            text = hand_text(record)
            assert parse_hand(text).record == record
            if hand % POKERKIT_EVERY == 0:
                history = HandHistory.loads(text)
                assert [*map(Fraction, [*history][-1].payoffs)] == [*map(Fraction, record.values)]
    assert showdowns > HANDS // 4
