"""Agents that users write: the documentation's example plays wherever ours do, and code is loaded only if it is named.

The conformance suite (`test_strategies.py`) runs on the example too.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from own_agents import BOTS, NAME, documented_agent, documented_code
from processes import Ended, Processes, stored_decisions
from serving import Dealt, Served, deal_all, seats, stores

from bot.config import BotConfig, BotSection
from bot.serve.agents import OpenAgents
from bot.serve.config import ServeConfig, parse_match
from dealer_tools.experiment.plan import match_plan
from dealer_tools.plan import entrant
from machine.errors import ConfigError
from protocol.game import game_text, load_game
from strategies.registry import AGENTS, find_agent, is_agent, open_agent, opener
from strategies.settings import StrategySettings

Call = Callable[..., Ended]
LEDUC = load_game("leduc").game


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


def write(folder: Path, code: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


# --- It plays -------------------------------------------------------------------------------------------------------


def test_the_example_is_short() -> None:
    assert len([line for line in documented_code().splitlines() if line.strip()]) <= 20


def test_a_match(run: Processes) -> None:
    command = (
        "match",
        "leduc",
        documented_agent(),
        "always-call",
        "--hands",
        12,
        "--duplicate",
        "--out",
        "m",
        "--json",
    )
    ended = run.paratus(*command).wait()
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert {*result["players"]} == {NAME, "always-call"}
    assert result["players"][NAME]["fallbacks"] == 0
    decisions = stored_decisions(run.folder / "m" / "forward" / f"{NAME}.sqlite")
    assert {decision.policy.origin.route for decision in decisions} == {NAME}
    assert any(decision.policy.weights.shape[1] > 1 for decision in decisions)
    scored = run.paratus("score", "m", "--player", NAME, "--values", "equity", "--json").wait()
    assert "aivat" in json.loads(scored.out)["estimators"]
    again = run.paratus(*command).wait()
    assert json.loads(again.out) == result


def test_a_server(run: Processes) -> None:
    matches = [Dealt(number, 6, opponent="always-call") for number in range(2)]
    deal_all(matches)
    sections = [{**seat, "name": f"m{number}"} for number, seat in enumerate(seats(matches, documented_agent()))]
    served = Served(run, {}, sections)
    served.wait_ready()
    for match in matches:
        match.check_clean()
    served.wait_over()
    assert served.ask("stop") == {"ok": True}
    assert served.process.wait().code == 0
    assert len(stores(run.folder)) == 2
    for path in stores(run.folder):
        assert {decision.policy.origin.route for decision in stored_decisions(path)} == {NAME}


def test_a_local_best_response(here: Call) -> None:
    """On one core and on two: each process loads the file for itself."""
    said = []
    for cores in (1, 2):
        ended = here(
            "lbr", documented_agent(), "--game", "leduc", "--setting", "fc", "--hands", 30, "--cores", cores, "--json"
        )
        assert ended.code == 0, ended.err
        said.append(json.loads(ended.out)["raw"])
    assert said[0] == said[1]


PLAN = """
name = "mine"
game = "leduc"
hands = 20
estimator = "aivat"
cores = 1
[[agents]]
name = "pairs"
agent = "{agent}"
[[agents]]
name = "caller"
agent = "always-call"
"""


def test_an_experiment_that_may_run_code(run: Processes) -> None:
    (run.folder / "plan.toml").write_text(PLAN.format(agent=documented_agent()))
    refused = run.paratus("experiment", "plan.toml", "--out", "e").wait()
    assert refused.code == 2
    assert "code of a plan is only run with --allow-code" in refused.last_line
    assert not (run.folder / "e").exists()
    ended = run.paratus("experiment", "plan.toml", "--out", "e", "--allow-code", "--json").wait(60)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["agents"]["pairs"]["fallbacks"] == 0


MINE = """
from protocol.state import CALL
from strategies.own_code import OwnAgent

class Mine(OwnAgent):
    \"\"\"Calls, and counts.\"\"\"
    on_loop = True
    asked = 0

    def policy(self, spot, budget, draws):
        self.asked += 1
        return self.for_every_hand(spot, lambda hand: {{CALL: {share}}})
"""


def test_two_files_with_classes_of_one_name_are_two_agents(tmp_path: Path) -> None:
    agents = opener(allow_code=True)
    names = [f"{write(tmp_path, MINE.format(share=share), f'{share}.py')}:Mine" for share in (1, 2)]
    opened = [agents.open(name, LEDUC, StrategySettings()) for name in (*names, names[0])]
    codes = [agent.identity()["code"] for agent in opened]
    assert codes[0] == codes[2] != codes[1]
    assert opened[0].strategy is opened[2].strategy


def test_matches_on_a_server_do_not_share_what_an_agent_remembers(tmp_path: Path) -> None:
    path = write(tmp_path, MINE.format(share=1))
    opened = OpenAgents().open(BotConfig(bot=BotSection(agent=f"{path}:Mine")), LEDUC)
    assert opened.here is not None  # quick enough for the loop
    one, other = opened.here.for_another_match(), opened.here.for_another_match()
    assert one.strategy is not other.strategy
    assert one.strategy.asked == other.strategy.asked == 0
    assert one.identity() == opened.here.identity()


def test_an_agent_that_raises_when_it_is_tried_plays_in_the_workers(tmp_path: Path) -> None:
    path = write(tmp_path, MINE.format(share="1 / 0"))
    opened = OpenAgents().open(BotConfig(bot=BotSection(agent=f"{path}:Mine")), LEDUC)
    assert opened.here is None
    assert opened.late is None


def test_settings_of_its_own(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        from pydantic import BaseModel
        from protocol.state import CALL, FOLD, can_fold
        from strategies.own_code import OwnAgent

        class Tight(OwnAgent):
            class Settings(BaseModel, extra="forbid"):
                share: float = 0.5

            def policy(self, spot, budget, draws):
                share = self.settings.share if can_fold(spot.state) else 0.0
                return self.for_every_hand(spot, lambda hand: {FOLD: share, CALL: 1 - share})
        """,
    )
    name = f"{path}:Tight"
    opened = open_agent(name, LEDUC, StrategySettings(own={"share": 0.25}), allow_code=True)
    assert opened.identity()["settings"] == '{"share":0.25}'
    other = open_agent(name, LEDUC, allow_code=True)
    assert other.identity()["settings"] == '{"share":0.5}'
    assert other.identity()["code"] == opened.identity()["code"]
    with pytest.raises(ConfigError, match="share = 'much': expected"):
        open_agent(name, LEDUC, StrategySettings(own={"share": "much"}), allow_code=True)
    assert BotConfig(own={"share": 0.25}).strategies.own == {"share": 0.25}


def test_an_installed_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point of a distribution that the import system finds."""
    write(tmp_path, documented_code(), "pairs_of_mine.py")
    info = tmp_path / "pairs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pairs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[paratus.agents]\npairs = pairs_of_mine:{NAME}\n")
    assert not is_agent("pairs")
    monkeypatch.syspath_prepend(tmp_path)
    assert is_agent("pairs")
    assert entrant("pairs") == "pairs"
    with pytest.raises(ConfigError, match="is not known"):
        find_agent("pairs")
    agent = open_agent("pairs", LEDUC, allow_code=True)
    assert agent.name == NAME
    assert agent.identity()["code"] == f"pairs_of_mine:{NAME} (pairs 1.0)"
    with pytest.raises(ConfigError, match="expected one of always-fold"):
        parse_match({"host": "127.0.0.1", "port": 5000, "agent": "pairs"})


def test_a_file_that_was_edited_is_still_the_one_that_plays(tmp_path: Path) -> None:
    """The hash is of the code that was loaded."""
    path = write(tmp_path, documented_code())
    before = open_agent(f"{path}:{NAME}", LEDUC, allow_code=True).identity()
    path.write_text("raise ValueError")
    assert open_agent(f"{path}:{NAME}", LEDUC, allow_code=True).identity() == before


# --- Who may name it ------------------------------------------------------------------------------------------------


@pytest.fixture
def trap(tmp_path: Path) -> tuple[str, Path]:
    """A class in a file, and what is there once the file was loaded."""
    sprung = tmp_path / "sprung"
    path = write(
        tmp_path,
        f"""
        from pathlib import Path
        from strategies.own_code import OwnAgent
        Path({str(sprung)!r}).touch()
        class Trap(OwnAgent):
            pass
        """,
        "trap.py",
    )
    return f"{path}:Trap", sprung


def test_the_command_line_may(trap: tuple[str, Path]) -> None:
    name, sprung = trap
    with pytest.raises(ConfigError, match="is not known"):
        find_agent(name)
    assert not sprung.exists()
    assert find_agent(name, allow_code=True).name == "Trap"
    assert sprung.exists()


def test_a_request_to_the_server_may_not(trap: tuple[str, Path]) -> None:
    name, sprung = trap
    match = {"host": "127.0.0.1", "port": 5000, "agent": name}
    assert ServeConfig.model_validate({"match": (match,)}).match[0].agent == name  # a file of settings may
    with pytest.raises(ConfigError, match="expected one of always-fold"):
        parse_match(match)
    assert not sprung.exists()


def test_a_match_folder_and_a_store_may_not(run: Processes, trap: tuple[str, Path]) -> None:
    name, sprung = trap
    played = ("match", "leduc", "random", "always-call", "--hands", "5", "--out", "m")
    assert run.paratus(*played).wait().code == 0
    folder = run.folder / "m"
    plan = json.loads((folder / "plan.json").read_text())
    plan["agents"][0][1] = name
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "result.json").unlink()
    refused = run.paratus(*played).wait()
    assert refused.code == 2
    assert "another match" in refused.err
    with closing(sqlite3.connect(folder / "match" / "random.sqlite")) as db, db:
        db.execute("UPDATE match SET agent = ?", (name,))
    assert run.paratus("score", "m", "--values", "equity").wait().code == 0
    assert run.paratus("replay", "m", "--hand", "2", "--values", "equity").wait().code == 0
    assert not sprung.exists()


def test_a_module_in_the_folder_of_a_match_may_not(run: Processes) -> None:
    """The dealer works in that folder, and imports nothing from it."""
    command = ("match", "leduc", "random", "always-call", "--hands", "5", "--out", "m", "--json")
    whole = run.paratus(*command).wait()
    assert whole.code == 0
    leg, sprung = run.folder / "m" / "match", run.folder / "sprung"
    for name in ("json.py", "bot.py", "argparse.py"):
        write(leg, f"from pathlib import Path; Path({str(sprung)!r}).touch()", name)
    for left in (run.folder / "m" / "result.json", leg / "match.log", leg / "match.tlog", leg / "match.messages"):
        left.unlink()
    again = run.paratus(*command).wait()
    assert again.code == 0, again.err
    assert json.loads(again.out)["players"] == json.loads(whole.out)["players"]
    assert not sprung.exists()


def test_the_folder_of_an_experiment_may_not(trap: tuple[str, Path], tmp_path: Path) -> None:
    """Its worker refuses what it was not allowed to run, whatever the folder says."""
    name, sprung = trap
    (tmp_path / "e").mkdir()
    match = {
        "game": "leduc", "definition": game_text(LEDUC), "hands": 5, "seed": 1, "duplicate": False,
        "agents": [["trap", name, ""], ["caller", "always-call", ""]], "limits_ms": [1, 1, 1], "own": [],
    }  # fmt: skip
    assert match_plan(match).agents[0] == name
    (tmp_path / "e" / "plan.json").write_text(json.dumps({"matches": {"m": match}}))
    with Processes(tmp_path) as run:
        worker = run.start("worker", sys.executable, "-m", "dealer_tools.experiment.worker", tmp_path / "e", "m", "0")
        ended = worker.wait()
    assert ended.code == 1
    assert "code of a plan is only run with --allow-code" in ended.last_line
    assert not sprung.exists()


_IMPORT = "from strategies.own_code import OwnAgent\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("class Mine:\n    pass", "expected a class that extends strategies.own_code.OwnAgent"),
        ("class Mine(", "SyntaxError"),
        (f"{_IMPORT}class Mine(OwnAgent):\n    def __init__(self, *a):\n        1 / 0", "ZeroDivisionError"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(here: Call, tmp_path: Path, code: str, said: str) -> None:
    write(tmp_path, code)
    for command in (
        ("lbr", "mine.py:Mine", "--setting", "fc", "--hands", "2"),
        ("bot", "h", "1", "--agent", "mine.py:Mine"),
    ):
        ended = here(*command)
        assert ended.code == 2
        assert said in ended.err
        assert ended.err.count("\n") == 1
    missing = here("lbr", "none.py:Mine", "--setting", "fc", "--hands", "2")
    assert missing.code == 2
    assert "none.py: No such file or directory: expected one that defines the class" in missing.err


# --- One place ------------------------------------------------------------------------------------------------------


def test_the_table_of_the_documentation_is_what_the_specs_say() -> None:
    found = re.search(r"<!-- agents -->\n(.*?)<!-- /agents -->", BOTS.read_text("utf-8"), re.DOTALL)
    assert found is not None
    rows = [f"| `{spec.name}` | {spec.summary} |" for spec in AGENTS.values()]
    assert found.group(1).splitlines() == ["| agent | what it does |", "|---|---|", *rows]


def test_every_section_of_the_settings_belongs_to_an_agent() -> None:
    owners = {spec.sections[0] for spec in AGENTS.values() if spec.sections}
    assert owners == {*StrategySettings.model_fields} - {"own"}
