"""What a search remembers of a hand: which decisions it knows again, and which it solves again, how and when."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from bot.serve.frames import policy_data, read_policy
from protocol.cards import Card, parse_cards
from protocol.game import DEFAULT_GAME, Position, load_game
from protocol.state import CALL, Raise, start
from protocol.wire import Deal, MatchState, read_betting
from solver.menu import menu_text, parse_menu
from strategies.players.processing import processed
from strategies.policy import FALLBACK, Origin, Policy, alike, round_columns
from strategies.search.memory import EarlierSolve, Memory
from strategies.store import MatchStore
from strategies.strategy import Budget, Decided, Spot

HOLDEM = load_game(DEFAULT_GAME).game
BOARD = parse_cards("Ks7h2d5c9s")
MENU = parse_menu("100%,a / a; also cc/cc/r257")


@dataclass(frozen=True, slots=True)
class Fake:
    """A solve."""

    name: str
    iterations: int = 10


def spot(betting: str, past: tuple[Decided, ...] = (), hand: int = 0, board: tuple[Card, ...] = BOARD) -> Spot:
    state = read_betting(start(HOLDEM), betting)
    assert state.actor is not None
    return Spot(hand, Position(state.actor), state, board[: HOLDEM.board_cards_by(state.street)], past)


def answer(share: float = 0.25, iterations: int = 10) -> Policy:
    shares = np.tile(np.array([[1 - share], [share]]), 1326)
    return Policy((CALL, Raise(300)), round_columns(shares), Origin("nested", "why", iterations))


@dataclass(slots=True)
class Hand:
    """A memory, and the hand's decisions."""

    memory: Memory[Fake] = field(default_factory=lambda: Memory("nested"))
    past: tuple[Decided, ...] = ()
    solved: list[tuple[EarlierSolve, Fake | None]] = field(default_factory=list)

    def decide(self, betting: str, name: str, policy: Policy | None = None) -> Policy:
        asked = spot(betting, self.past)
        policy = self.memory.remember(asked, policy or answer(), MENU, Fake(name))
        self.past = (*self.past, Decided(asked.state, policy))
        return policy

    def recall(self, betting: str, done: int = 10, stop: Event | None = None) -> Fake | None:
        asked, budget = spot(betting, self.past), Budget(time.monotonic() + 60, 60.0, stop)

        def again(earlier: EarlierSolve, known: Fake | None) -> Fake | None:
            self.solved.append((earlier, known))
            return Fake(f"again {earlier.spot.state.betting}", done) if done else None

        return self.memory.recall(asked, self.memory.decisions(asked), budget, again)


CHAIN = ("cc/cc/", "cc/cc/cr300", "cc/cc/cr300c/")


def chain() -> Hand:
    hand = Hand()
    for number, betting in enumerate(CHAIN):
        hand.decide(betting, str(number))
    return hand


# --- Known again ------------------------------------------------------------------------------------------------------


def through_frames(policy: Policy, folder: Path) -> Policy:
    return read_policy(*policy_data(policy))


def through_a_store(policy: Policy, folder: Path) -> Policy:
    asked = spot("cc/cc/")
    store = MatchStore(folder / "store", HOLDEM, "nested", {}, resume=False)
    deal = Deal((parse_cards("AhAd"), ()), asked.board)
    store.add_decision(MatchState(asked.position, 0, asked.state, deal), policy, CALL, 0.1)
    store.flush()
    (found,) = store.policies(0).values()
    store.close()
    return found


def through_a_router(policy: Policy, folder: Path) -> Policy:
    weights = processed(policy.weights, threshold=0.0, purify=True)
    return Policy(policy.support, weights, replace(policy.origin, reason="turn; why"))


@pytest.mark.parametrize("through", [through_frames, through_a_store, through_a_router])
def test_a_policy_is_known_again_wherever_it_has_been(through: Any, tmp_path: Path) -> None:
    hand = Hand()
    policy = hand.decide("cc/cc/", "turn")
    came = through(policy, tmp_path)
    assert came is not policy
    assert hand.memory.of(came) == Fake("turn")
    hand.past = (Decided(hand.past[0].state, came),)
    assert hand.recall("cc/cc/cr300") == Fake("turn")
    assert not hand.solved


def test_each_decision_has_a_key_of_its_own() -> None:
    other = parse_cards("AhJd9sTc9c")
    before = Decided(spot("").state, alike((CALL,), (1.0,), Origin("base")))
    raised = Decided(spot("").state, alike((CALL, Raise(300)), (0.5, 0.5), Origin("base")))
    decisions = [
        (spot("cc/cc/"), answer()),
        (spot("cc/cc/", board=other), answer()),
        (spot("cc/r300c/"), answer()),
        (spot("cc/cc/", (before,)), answer()),
        (spot("cc/cc/", (raised,)), answer()),
        (spot("cc/cc/"), answer(0.26)),
        (spot("cc/cc/"), answer(iterations=11)),
        (spot("cc/cc/"), replace(answer(), support=(CALL, Raise(301)))),
    ]
    keys = [Memory[Fake]("nested").remember(*each, MENU, Fake("")).origin.notes["key"] for each in decisions]
    menu = parse_menu("100%,a / a")
    keys.append(Memory[Fake]("nested").remember(*decisions[0], menu, Fake("")).origin.notes["key"])
    assert len(set(keys)) == len(keys)
    assert Memory[Fake]("nested").remember(*decisions[0], MENU, Fake("")).origin.notes["key"] == keys[0]


def test_what_is_logged_beside_the_key_stays() -> None:
    policy = answer()
    kept = Hand().decide("cc/cc/", "turn", replace(policy, origin=policy.origin.with_notes(pairs=7)))
    assert kept.origin.notes.keys() == {"pairs", "menu", "key"}
    assert (kept.origin.notes["pairs"], kept.origin.notes["menu"]) == (7, menu_text(MENU))
    assert (kept.support, kept.origin.reason, kept.origin.iterations) == (policy.support, "why", 10)
    assert np.array_equal(kept.weights, policy.weights)


def test_other_hands_are_forgotten() -> None:
    hand = Hand()
    policy = hand.decide("cc/cc/", "turn")
    hand.memory.remember(spot("cc/cc/", hand=1), answer(0.5), MENU, Fake("other"))
    assert hand.memory.of(policy) is None
    assert hand.recall("cc/cc/cr300") == Fake("again cc/cc/")


def test_only_the_latest_are_kept() -> None:
    """What was gone on from counts as used."""
    hand = chain()
    first = hand.past[:1]
    lines = [f"cc/cc/r{size}r{3 * size}" for size in range(300, 309)]
    for line in lines:
        hand.past = first
        assert hand.recall(line) == Fake("0")
        hand.decide(line, line)
    assert not hand.solved
    assert len(hand.memory._known) == 8
    hand.past = (*first, hand.past[-1])
    assert hand.recall(f"{lines[-1]}c/") == Fake(lines[-1])
    hand.past = chain().past
    assert hand.recall("cc/cc/cr300c/cr900") == Fake("again cc/cc/cr300c/")


# --- Solved again -----------------------------------------------------------------------------------------------------


def test_the_missing_are_solved_again_in_their_order_from_the_log() -> None:
    hand = Hand(past=chain().past)
    assert hand.recall("cc/cc/cr300c/cr900") == Fake("again cc/cc/cr300c/")
    assert [earlier.spot.state.betting for earlier, _ in hand.solved] == list(CHAIN)
    assert [known and known.name for _, known in hand.solved] == [None, "again cc/cc/", "again cc/cc/cr300"]
    for number, (earlier, _) in enumerate(hand.solved):
        assert earlier.spot.past == hand.past[:number]
        assert earlier.spot.board == BOARD[: 5 if number == 2 else 4]
        assert (earlier.menu, earlier.iterations) == (MENU, 10)
    hand.solved.clear()
    assert hand.recall("cc/cc/cr300c/cr900") == Fake("again cc/cc/cr300c/")
    assert not hand.solved


def test_those_after_the_latest_that_is_known_are_solved_again() -> None:
    hand, whole = Hand(), chain()
    hand.decide("cc/cc/", "0")
    hand.past = whole.past
    hand.recall("cc/cc/cr300c/cr900")
    assert [earlier.spot.state.betting for earlier, _ in hand.solved] == list(CHAIN[1:])
    assert hand.solved[0][1] == Fake("0")


def test_decisions_that_the_search_did_not_make_are_passed_over() -> None:
    """Those of the base, those that fell back, and one that does not say how it was solved."""
    hand = chain()
    stranger = Decided(spot("").state, alike((CALL,), (1.0,), Origin("blueprint", details='{"menu": "a"}')))
    late = Decided(spot("cc/cc/cr300").state, alike((CALL,), (1.0,), Origin(FALLBACK)))
    silent = Decided(spot("cc/").state, alike((CALL,), (1.0,), Origin("nested", details="?")))
    hand.past = (stranger, silent, hand.past[0], late)
    assert hand.memory.decisions(spot("cc/cc/cr300c/", hand.past)) == [hand.past[2]]
    assert hand.recall("cc/cc/cr300c/") == Fake("0")


def test_a_log_from_before_there_were_keys_is_solved_again_once() -> None:
    hand = chain()
    old = [replace(each.policy, origin=replace(each.policy.origin, details='{"menu": "100%,a / a"}'))
           for each in hand.past]  # fmt: skip
    hand.past = tuple([replace(each, policy=policy) for each, policy in zip(hand.past, old, strict=True)])
    for _ in range(2):
        assert hand.recall("cc/cc/cr300c/cr900") == Fake("again cc/cc/cr300c/")
        assert [earlier.spot.state.betting for earlier, _ in hand.solved] == list(CHAIN)


@pytest.mark.parametrize("done", [0, 9])
def test_what_there_was_no_time_for_is_said(done: int, caplog: pytest.LogCaptureFixture) -> None:
    hand = Hand(past=chain().past[:1])
    with caplog.at_level(logging.WARNING):
        found = hand.recall("cc/cc/cr300", done)
    assert (found is None) == (done == 0)
    assert caplog.messages == [f"hand 0, cc/cc/: no time to solve it as before: {done} of 10 iterations"]


def test_what_was_stopped_is_not_kept() -> None:
    """Nobody waits for the answer, but the hand may go on."""
    stop = Event()
    stop.set()
    hand = Hand(past=chain().past)
    assert hand.recall("cc/cc/cr300c/cr900", stop=stop) is None
    assert len(hand.solved) == 1
    assert not hand.memory._known
