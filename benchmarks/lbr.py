"""Local best response: hands a second against the blueprint that ships, and what chances of winning cost."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

from dealer_tools.lbr.equity import Equities
from dealer_tools.lbr.hand import Players
from dealer_tools.lbr.settings import Setting
from protocol.cards import parse_cards
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, load_game
from strategies.agents import Agent
from strategies.registry import open_agent

_PAIRS = {Setting.FC: 500, Setting.FCPA_LATE: 300, Setting.LATE_56: 40, Setting.FLOP_56: 40}
_WARM_UP = 10
_RUNS = 20


def run() -> dict[str, object]:
    """One thread; the first hands, which compile and load, are not counted."""
    game, hole = load_game(DEFAULT_GAME).game, parse_cards("JhJd")
    report: dict[str, object] = {}
    for street, board in (("flop", "2c7d7h"), ("turn", "2c7d7hTs"), ("river", "2c7d7hTsAc")):
        cards = parse_cards(board)
        took = _seconds(lambda cards=cards: Equities(game).of(hole, cards), lambda: Equities(game))  # type: ignore[misc]
        report[f"chances_on_the_{street}_us"] = round(1e6 * took, 1)
    agent = open_agent("blueprint", game)
    for setting in _PAIRS:
        wall, core = _rates(setting, agent)
        report |= {f"{setting}_hands_a_second": wall, f"{setting}_hands_a_core_second": core}
    return report


def _seconds(work: Callable[[], object], begin: Callable[[], object]) -> float:
    """Of the work, without what it takes to begin, which it does too."""
    took = []
    for each in [work, begin] * (_RUNS + 1):
        begun = time.perf_counter()
        each()
        took.append(time.perf_counter() - begun)
    return statistics.median(took[2::2]) - statistics.median(took[3::2])


def _rates(setting: Setting, agent: Agent) -> tuple[float, float]:
    """Hands a second, by the clock and by the core's time, which programs beside it do not change much."""
    players, stream = Players(setting, agent, 1), CardStream(agent.game, 1)
    for number in range(_WARM_UP):
        players.pair(number, stream.deal())
    begun, begun_core = time.perf_counter(), time.process_time()
    for number in range(_PAIRS[setting]):
        players.pair(_WARM_UP + number, stream.deal())
    hands = 2 * _PAIRS[setting]
    return round(hands / (time.perf_counter() - begun), 1), round(hands / (time.process_time() - begun_core), 1)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
