"""Searches end with their match: a real worker that could think for a minute is free again within a moment."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from blueprint_files import HOLDEM, folder, settings_for
from processes import Processes, stored_decisions, toml
from serving import Served
from test_serve_workers import spot_at

from bot.config import BotConfig, BotSection
from bot.serve.agents import Distant, OpenAgents
from bot.serve.pool import Patience, Pool, WorkerLost
from strategies.draws import Draws
from strategies.search.settings import Effort, LimitedSettings, NestedSettings
from strategies.strategy import Budget

LONG_S = 60.0
SOON_S = 3.0
"""A batch of iterations takes a twentieth of a second, a tree of the turn some tenths where others use the machine."""
FOR_EVER = Effort(iterations=1_000_000, share=1.0)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


async def idle(pool: Pool) -> float:
    """Seconds until no worker thinks."""
    begun_s = time.monotonic()
    while pool.thinking:
        assert time.monotonic() - begun_s < LONG_S / 2
        await asyncio.sleep(0.01)
    return time.monotonic() - begun_s


async def test_searches_of_a_match_that_is_over_are_stopped() -> None:
    config = BotConfig(
        bot=BotSection(agent="paratus"),
        blueprint=settings_for(HOLDEM),
        limited=LimitedSettings(flop=FOR_EVER, keep=False),
        nested=NestedSettings(turn=FOR_EVER),
    )
    opened = OpenAgents().open(config, HOLDEM)
    async with Pool(1, Patience(hung_s=LONG_S)).open() as pool:
        for number, betting in enumerate(("cc/", "cc/cc/")):
            match = f"m{number}"
            distant = Distant("paratus", match, pool, await pool.seat(match, opened.seat()))
            spot, draws = spot_at(betting), Draws(1, match, 3, len(betting), "strategy")
            budget = Budget(time.monotonic() + LONG_S, LONG_S)
            thinking = asyncio.create_task(asyncio.to_thread(distant.policy, spot, budget, draws))
            await asyncio.sleep(1.0)
            assert pool.thinking == 1
            pool.leave(match)
            with pytest.raises(WorkerLost, match="the match is over"):
                await thinking
            assert await idle(pool) < SOON_S
        assert pool.replaced == 0


def test_a_dealer_that_goes_while_we_think_ends_the_match_at_once(run: Processes) -> None:
    """Not only when there is an answer to send; and the worker is free for others."""
    bot = run.folder / "bot.toml"
    bot.write_text(
        toml({"clock": {"per_hand_s": LONG_S}})
        + f'[blueprint]\nfile = "{settings_for(HOLDEM).file}"\ntables = "{folder()}"\nrivers = false\n'
        + "[limited]\nkeep = false\n[limited.flop]\niterations = 1000000\nshare = 1.0\n"
    )
    seat = {"host": "127.0.0.1", "port": int(run.fake("dealer", "vanishes_asked").first_line()), "name": "m"}
    served = Served(run, {"serve": {"bot": str(bot)}}, [{**seat, "agent": "paratus", "think_s": LONG_S}])
    served.wait_ready()
    served.wait_for(lambda: served.metrics()["paratus_workers_thinking"], "a worker thinks", LONG_S)
    begun_s = time.monotonic()
    served.wait_over()
    served.wait_for(lambda: not served.metrics()["paratus_workers_thinking"], "it is free")
    assert time.monotonic() - begun_s < SOON_S
    message = served.matches()["m"]["message"]
    assert re.fullmatch(
        r"the dealer is gone: disconnected \(in the middle of a hand, after 0 finished hands\)", message
    )
    assert served.metrics()["paratus_workers_replaced"] == 0
    served.ask("stop")
    assert served.process.wait().code == 0
    (path,) = (run.folder / "stores").glob("*.sqlite")
    assert [each.betting for each in stored_decisions(path)] == ["c"]
