"""Workers: what they are told and say, and what becomes of matches when they crash or hang."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from blueprint_files import HOLDEM, settings_for
from processes import Processes, stored_decisions, stored_hands
from serving import Dealt, Served, deal_all, searching, seats, stores

from bot.config import BotConfig, BotSection
from bot.serve.agents import Distant, OpenAgents
from bot.serve.frames import FrameError, Memory, policy_data, read_policy, read_spot, sizes, spot_data
from bot.serve.pool import Patience, Pool, WorkerFailed
from bot.serve.worker import Worker
from protocol.log import Limits
from protocol.state import start
from protocol.wire import read_betting
from strategies.draws import Draws
from strategies.policy import Origin, alike
from strategies.registry import make_strategy
from strategies.settings import SlumbotStyleSettings
from strategies.strategy import Budget, Decided, Spot

NEVER = threading.Event()
SEAT = {"agent": "random", "game": "", "name": "holdem", "settings": {}}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


def spot_at(betting: str, past: tuple[Decided, ...] = (), hand: int = 3) -> Spot:
    state = read_betting(start(HOLDEM), betting)
    board = tuple(list(HOLDEM.deck())[: HOLDEM.board_cards_by(state.street)])
    return Spot(hand, state.actor, state, board, past)


def opened(agent: str = "random"):
    return OpenAgents().open(BotConfig(bot=BotSection(agent=agent)), HOLDEM)


def decided(betting: str) -> Decided:
    spot = spot_at(betting)
    draws = Draws(1, "m", 3, len(spot.state.actions), "strategy")
    return Decided(spot.state, make_strategy("random", HOLDEM).policy(spot, Budget(0, 0), draws))


# --- What is said -----------------------------------------------------------------------------------------------------


def test_a_decision_arrives_as_it_was_sent():
    past = (decided(""), decided("cr300"))
    spot, draws = spot_at("cr300c/cr700", past), Draws(7, "naïve \0 match", 3, 5, "strategy")
    back, drawn = read_spot(HOLDEM, *spot_data(spot, draws), Memory())
    assert (back.hand, back.position, back.state, back.board) == (spot.hand, spot.position, spot.state, spot.board)
    assert [each.state for each in back.past] == [each.state for each in past]
    for ours, theirs in zip(past, back.past, strict=True):
        assert ours.policy.support == theirs.policy.support
        assert (ours.policy.weights == theirs.policy.weights).all()
        assert ours.policy.origin == theirs.policy.origin
    assert drawn.key == draws.key
    assert drawn.word() == draws.word()


def test_a_worker_knows_its_own_policies_again():
    memory, past = Memory(), (decided(""),)
    memory.begin(3)
    memory.made[""] = past[0].policy
    data = spot_data(spot_at("cr300", past), Draws(1, "m", 3, 2, "strategy"))
    assert read_spot(HOLDEM, *data, memory)[0].past[0].policy is past[0].policy
    assert read_spot(HOLDEM, *data, Memory())[0].past[0].policy is not past[0].policy
    other = Memory(3, {"": alike((past[0].policy.support[0],), (1.0,), Origin("other"))})
    assert read_spot(HOLDEM, *data, other)[0].past[0].policy is not other.made[""]


def test_frames_that_are_refused():
    with pytest.raises(FrameError, match="expected at most"):
        sizes(b"\xff" * 8)
    data, blob = policy_data(decided("").policy)
    with pytest.raises(FrameError, match="expected"):
        read_policy(data, blob + b"\0")


def test_a_worker_that_is_asked_nonsense_goes_on():
    worker = Worker()
    assert worker.answer({"do": "dance"}, b"", NEVER)[0]["say"] == "refused"
    assert worker.answer({"do": "decide", "ask": 5, "match": "nobody"}, b"", NEVER)[0]["say"] == "failed"
    assert worker.answer({"do": "seat", "match": "m", **SEAT}, b"", NEVER)[0]["say"] == "refused"
    assert worker.answer({"do": "leave", "match": "m"}, b"", NEVER) is None


def test_a_section_that_was_edited_counts_at_the_next_join():
    """The bot's file is read again for every match: strategies are shared only by settings that are all the same."""
    agents, lookup = OpenAgents(), settings_for(HOLDEM).model_dump()
    opened = []
    for purify in (False, True, False):
        section = SlumbotStyleSettings(**lookup, purify=purify)
        config = BotConfig(bot=BotSection(agent="slumbot-style"), slumbot_style=section)
        opened.append(agents.open(config, HOLDEM).here)
    assert [each.identity()["purify"] for each in opened] == ["false", "true", "false"]
    assert opened[0].strategy is opened[2].strategy


# --- A pool of real workers -------------------------------------------------------------------------------------------


async def test_a_distant_policy_is_that_of_the_strategy_itself():
    agent = opened()
    async with Pool(1, Patience()).open() as pool:
        identity = await pool.seat("m", agent.seat())
        distant = Distant("random", "m", pool, identity)
        assert distant.identity() == make_strategy("random", HOLDEM).identity()
        for hand in range(5):
            spot = spot_at("r300c/", hand=hand)
            budget = Budget(time.monotonic() + 20, 5.0)
            far = await asyncio.to_thread(distant.policy, spot, budget, Draws(1, "m", hand, 2, "strategy"))
            near = make_strategy("random", HOLDEM).policy(spot, budget, Draws(1, "m", hand, 2, "strategy"))
            assert far.support == near.support
            assert (far.weights == near.weights).all()
        with pytest.raises(WorkerFailed):  # and goes on
            await pool.think("m", {"hand": 1}, b"", Budget(time.monotonic() + 20, 5.0))
        pool.leave("m")


async def test_a_worker_that_hangs_is_replaced_and_nobody_is_late():
    agent = opened()
    async with Pool(1, Patience(hung_s=0.3)).open() as pool:
        distant = Distant("random", "m", pool, await pool.seat("m", agent.seat()))
        first = pool.places[0].pid
        os.kill(first, signal.SIGSTOP)
        begun_s = time.monotonic()
        budget = Budget(begun_s + 0.5, 5.0)
        with pytest.raises(Exception, match=r"not back in time|ended"):
            await asyncio.to_thread(distant.policy, spot_at(""), budget, Draws(1, "m", 1, 0, "strategy"))
        assert time.monotonic() - begun_s < 3.0
        away = agent.away(distant)
        assert away.stand_in(spot_at(""), Draws(1, "m", 1, 0, "strategy"), "late").origin.is_fallback
        budget = Budget(time.monotonic() + 60, 60.0)  # waits for the next worker, which knows the match
        policy = await asyncio.to_thread(distant.policy, spot_at(""), budget, Draws(1, "m", 1, 0, "strategy"))
        assert policy.support
        assert pool.places[0].pid != first
        assert pool.replaced == 1


# --- Whole matches -------------------------------------------------------------------------------------------------

LIMITS = Limits(10_000, 60_000, 60_000)
"""The dealers': nobody may be later."""


def kill_worker(served: Served) -> None:
    """Whatever it is at; it has been replaced when this returns."""
    known = served.metrics()["paratus_workers_replaced"]
    served.wait_for(lambda: served.ask("health")["workers"][0]["pid"], "a worker", 60)
    os.kill(served.ask("health")["workers"][0]["pid"], signal.SIGKILL)
    served.wait_for(lambda: served.metrics()["paratus_workers_replaced"] > known, "another worker", 60)


def test_workers_killed_at_any_moment(run: Processes) -> None:
    """While they get ready, think, or whatever it is: matches go to their ends, and every loss is accounted for."""
    matches = [Dealt(number, 12, LIMITS, opponent="always-call") for number in range(3)]
    deal_all(matches)
    served = Served(run, {"serve": {"bot": searching(run.folder)}}, seats(matches, "paratus", 0.4))
    served.wait_ready()
    moments = random.Random(11)
    for thinking in (False, True, False):
        if thinking:
            served.wait_for(lambda: served.metrics()["paratus_workers_thinking"], "the worker thinks", 60)
        kill_worker(served)
        time.sleep(moments.uniform(0.0, 0.5))
    for match in matches:
        match.check_clean()
    served.wait_over()
    counted = served.metrics()
    served.ask("stop")
    ended = served.process.wait()
    assert ended.code == 0
    assert ended.err.count("worker 1 ended: another one starts") == 3
    assert counted['paratus_matches_total{event="complete"}'] == len(matches)
    assert [len(stored_hands(path)) for path in stores(run.folder)] == [12] * len(matches)
    stored = [each.policy.origin for path in stores(run.folder) for each in stored_decisions(path)]
    assert counted["paratus_fallbacks_total"] == sum(origin.is_fallback for origin in stored)
    assert counted["paratus_decision_seconds_count"] == len(stored)
    lost = [origin.route for origin in stored if "WorkerLost" in origin.reason]
    assert lost
    assert set(lost) == {"fallback/blueprint"}
