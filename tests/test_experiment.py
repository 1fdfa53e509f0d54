"""`paratus experiment`: plans, matches that are killed and go on, cross tables."""

from __future__ import annotations

import json
import re
import shutil
import signal
import tomllib
import xml.etree.ElementTree as Xml
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import get_args

import pytest
from experiments import FAST, hands_played, kill_and_resume, logs, plan_text, results, run_through, start, table
from processes import Processes, stored_decisions, stranger, wait_until
from scipy.stats import norm

from bot import cli
from bot.config import load_config
from dealer_tools.experiment.plan import EXAMPLE, AgentSection, DealerLimits, ExperimentPlan, load_plan, tasks_of
from dealer_tools.experiment.progress import MatchProgress, Moments
from dealer_tools.experiment.results import holm, p_value
from dealer_tools.experiment.runner import _cores_for, _Running
from dealer_tools.results import Estimate
from dealer_tools.scoring.valuing import READY, VALUES
from machine.errors import ConfigError
from machine.toml import toml_text
from protocol.game import load_game
from protocol.log import parse_state_line
from strategies.search.settings import MenuRule, NestedSettings
from strategies.settings import StrategySettings

HOLDEM = "holdem.nolimit.2p.reverse_blinds"
HANDS = 60
AGENTS = {name: FAST[name] for name in ("random", "raiser", "caller")}
PAIRINGS = [["random", "raiser"], ["caller", "random"]]
PLAN = plan_text(AGENTS, pairings=PAIRINGS, hands=HANDS, seeds=[3], estimator="aivat", values="equity", cores=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one that was left alone."""
    return run_through(tmp_path_factory.mktemp("whole"), PLAN)


# --- Statistics -----------------------------------------------------------------------------------------------------


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.0, 0.02, 0.02]) == pytest.approx([0.0, 0.04, 0.04])
    assert holm([0.2]) == [0.2]


def test_p_values_are_those_of_the_normal_law():
    for values in ([1.0, 2.0, 4.0], [-3.0, 1.0, 1.5, -2.0], [5.0, 5.1]):
        estimate = Estimate.of(values)
        assert p_value(estimate) == pytest.approx(2 * norm.sf(abs(estimate.mean_mbb / estimate.se_mbb)))
    assert p_value(Estimate.of([1.0])) == 1.0
    assert p_value(Estimate.of([0.0, 0.0])) == 1.0
    assert p_value(Estimate.of([-2.0, -2.0])) == 0.0


def test_running_moments():
    values, moments = [3.0, -1.0, 4.0, 1.0, -5.0], Moments()
    assert isnan(moments.half_width)
    for value in values:
        moments.add(value)
    estimate = Estimate.of(values)
    assert moments.mean == pytest.approx(estimate.mean_mbb)
    assert moments.half_width == pytest.approx(estimate.high_mbb - estimate.mean_mbb)


# --- Plans ----------------------------------------------------------------------------------------------------------


def test_the_example_has_every_key_with_its_default():
    text = EXAMPLE.read_text(encoding="utf-8")
    values, plan = tomllib.loads(text), load_plan(EXAMPLE)
    assert list(values) == list(ExperimentPlan.model_fields)
    assert list(values["limits"]) == list(DealerLimits.model_fields)
    assert [*values["agents"][0], "settings"] == list(AgentSection.model_fields)
    assert plan.limits == DealerLimits()
    assert {"", *VALUES} - {READY} == {*get_args(ExperimentPlan.model_fields["values"].annotation)}
    for model, given in ((ExperimentPlan, plan), (AgentSection, plan.agents[0])):
        for key, field in model.model_fields.items():
            chosen = ("name", "game", "hands", "seeds", "agents", "agent")
            assert field.is_required() or key in chosen or getattr(given, key) == field.default, key
    explained = text.partition("[limits]")[0] + text.split("[[agents]]")[1]
    for before, line in pairwise(explained.splitlines()):
        assert before.startswith("#") or not re.match(r"[a-z_]+ = ", line), line
    assert [task.name for task in tasks_of(plan, load_game("leduc").game)] == [
        f"{name}-{seed}" for seed in (1, 2) for name in ("01-random-caller", "02-random-raiser", "03-caller-raiser")
    ]


BAD = {
    "no such key": (plan_text(FAST, speed=3), "speed = 3: unknown key: expected one of name, game, hands, "),
    "no such key of an agent": (
        plan_text(FAST) + "colour = 1\n",
        "agents.4.colour = 1: unknown key: expected one of name, ",
    ),
    "no such setting": (
        plan_text(FAST) + "[agents.settings.router]\nfllop = 1\n",
        "agents.4.settings.router.fllop = 1: unknown key: expected one of preflop, ",
    ),
    "a setting that is none": (
        plan_text(FAST) + "settings.nested.kind = 'x'\n",
        "agents.4.settings.nested.kind = 'x': expected ",
    ),
    "a word": (plan_text(FAST, hands="many"), "hands = 'many': expected a whole number"),
    "one hand": (plan_text(FAST, hands=1), "hands = 1: expected at least 2"),
    "no seeds": (plan_text(FAST, seeds=[]), "seeds = []: expected at least 1 entries"),
    "a seed twice": (plan_text(FAST, seeds=[1, 1]), "seeds = '1': given 2 times: expected different ones"),
    "a negative seed": (plan_text(FAST, seeds=[-1]), "seeds.0 = -1: expected at least 0"),
    "one agent": (
        plan_text({"random": "random"}),
        "agents = [{'name': 'random', 'agent': 'random'}]: expected at least 2 ",
    ),
    "a name twice": (
        plan_text(FAST) + plan_text({"jam": "random"}).partition("\n\n")[2],
        "agents.name = 'jam': given 2 times: expected different ones",
    ),
    "a name that is a path": (
        plan_text({"../x": "random", "b": "random"}),
        "agents.0.name = '../x': expected text like ",
    ),
    "no such agent": (plan_text({"a": "nobody", "b": "random"}), "agents.a: agent 'nobody': neither an executable "),
    "an agent for another game": (
        plan_text({"a": "nested", "b": "random"}),
        "agents.a: agent nested plays heads-up no-limit hold'em, not leduc",
    ),
    "no such game": (
        plan_text(FAST, game="chess"),
        "chess: No such file or directory: expected a .game file or one of ",
    ),
    "a game for three": (
        plan_text(FAST, game="kuhn.limit.3p"),
        "game = 'kuhn.limit.3p': played by 3: expected a game for two",
    ),
    "nobody of that name": (
        plan_text(FAST, pairings=[["jam", "x"]]),
        "pairings = 'x': expected two of random, caller, ",
    ),
    "against itself": (
        plan_text(FAST, pairings=[["jam", "jam"]]),
        "pairings = ['jam', 'jam']: an agent against itself",
    ),
    "a pairing of three": (
        plan_text(FAST, pairings=[["jam", "random", "caller"]]),
        "pairings.0 = ['jam', 'random', 'caller']: ",
    ),
    "a pairing twice": (
        plan_text(FAST, pairings=[["jam", "random"], ["random", "jam"]]),
        "pairings = 'jam v random': given 2 times: expected different ones",
    ),
    "an estimator that is none": (plan_text(FAST, estimator="luck"), "estimator = 'luck': expected 'raw', 'aivat' or "),
    "too little memory": (
        plan_text(FAST, memory_mib=100),
        "memory_mib = 100: random v caller needs 450: expected as much",
    ),
    "more cores than there are": (plan_text(FAST) + "cores = 1000\n", "cores = "),
    "no TOML": ("hands = = 3", "not a TOML file: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_plans_are_refused_in_one_line(name, tmp_path, capsys):
    text, reason = BAD[name]
    path = tmp_path / "plan.toml"
    path.write_text(text)
    assert cli.main(["experiment", str(path), "--out", str(tmp_path / "x")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"paratus experiment: {path}: {reason}"), err
    assert not (tmp_path / "x").exists()


def test_strangers_are_not_told_how_to_play(tmp_path):
    path = tmp_path / "plan.toml"
    program = str(stranger(tmp_path))
    path.write_text(plan_text({"ours": "random", "theirs": program}) + "think_s = 1.0\n")
    with pytest.raises(ConfigError, match=r"agents\.theirs: think_s: .* is not ours to tell"):
        load_plan(path)
    path.write_text(plan_text({"a": program, "b": program}, estimator="aivat"))
    with pytest.raises(ConfigError, match="estimator = 'aivat': no policies of a nor of b: expected 'raw'"):
        load_plan(path)
    path.write_text(plan_text({"ours": "random", "b": program}, estimator="aivat-both"))
    with pytest.raises(ConfigError, match="'aivat-both': not the policies of both ours and b: expected 'aivat' or"):
        load_plan(path)


def test_a_folder_with_something_else(tmp_path, capsys):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    (tmp_path / "y").mkdir()
    (tmp_path / "y/thesis.txt").write_text("dear")
    assert cli.main(["experiment", str(path), "--out", str(tmp_path / "y")]) == 2
    assert "holds files, but no experiment" in capsys.readouterr().err


def test_settings_reach_the_agent(tmp_path):
    """As a configuration file that the bot reads."""
    nested = NestedSettings(menus=(MenuRule(menu="50%,a / a", spr=3.5), MenuRule(street="river", menu="a")), threads=1)
    sections = StrategySettings(nested=nested).model_dump(exclude_unset=True)
    path = tmp_path / "bot.toml"
    path.write_text(toml_text(sections))
    assert load_config(path, {}).nested == nested
    text = toml_text({"a": {"b": float("inf"), "c": 'x"\\\n\x7fé', "d": [True, -1, 1e-7], "e": {"f": ["g"]}}})
    assert tomllib.loads(text) == {
        "a": {"b": float("inf"), "c": 'x"\\\n\x7fé', "d": [True, -1, 1e-7], "e": {"f": ["g"]}}
    }


def test_the_budget(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(plan_text(FAST, memory_mib=1000))
    plan = load_plan(path).model_copy(update={"cores": 1})
    tasks = tasks_of(plan, load_game("leduc").game)
    assert [task.cores for task in tasks] == [1] * 10
    (core,) = _cores_for(plan, tasks[0], {})
    running = {"a": _Running(tasks[0], [core], None)}
    assert _cores_for(plan, tasks[1], running) == []
    running = {str(number): _Running(task, [], None) for number, task in enumerate(tasks[:2])}
    assert sum(each.task.memory_mib for each in running.values()) == 900
    assert _cores_for(plan, tasks[2], running) == []


# --- Results --------------------------------------------------------------------------------------------------------


def test_the_folder_is_complete(whole):
    names = {str(path.relative_to(whole)) for path in whole.rglob("*")}
    assert {"plan.toml", "plan.json", "results.json", "table.txt", "index.html"} <= names
    for match in ("01-random-raiser-3", "02-caller-random-3"):
        assert {f"matches/{match}/{file}" for file in ("plan.json", "result.json", "score.html")} <= names
        for leg in ("forward", "reverse"):
            for file in ("match.log", "match.tlog", "match.messages", "match.game"):
                assert f"matches/{match}/{leg}/{file}" in names
    document = json.loads((whole / "plan.json").read_text())
    assert document["revision"].startswith("paratus ")
    assert document["plan"]["seeds"] == [3]
    agents = json.loads((whole / "results.json").read_text())["agents"]
    assert {name: agent["identities"][0]["kind"] for name, agent in agents.items()} == dict.fromkeys(AGENTS, "baseline")
    assert all(agent["fallbacks"] == 0 for agent in agents.values())
    for page in [whole / "index.html", *whole.rglob("score.html")]:
        (svg,) = re.findall(r"<svg.*?</svg>", page.read_text(), re.DOTALL)
        Xml.fromstring(svg)
    for link in re.findall(r'href="([^"]+)"', (whole / "index.html").read_text()):
        assert (whole / link).is_file()


def test_raw_is_what_the_logs_say_and_aivat_what_the_score_says(whole, capsys):
    game = load_game("leduc").game
    document = json.loads((whole / "results.json").read_text())
    assert document["values"]["name"] == "equity"
    for each, match in zip(document["pairs"], sorted((whole / "matches").glob("*-3")), strict=True):
        first = each["pair"][0]
        legs = []
        for leg in ("forward", "reverse"):
            lines = (match / leg / "match.log").read_text().splitlines()
            hands = [parse_state_line(line, game) for line in lines if line.startswith("STATE")]
            legs.append([hand.values[hand.names.index(first)] for hand in hands])
        estimate = Estimate.of([10 * (a + b) / 2 for a, b in zip(*legs, strict=True)])
        assert each["raw"] == pytest.approx(estimate.as_json())
        assert (
            cli.main(["score", str(match), "--player", first, "--values", "equity", "--estimators", "aivat", "--json"])
            == 0
        )
        rows = json.loads(capsys.readouterr().out)["estimators"]
        for key in ("observations", "mean_mbb", "se_mbb", "low_mbb", "high_mbb"):
            assert each[key] == pytest.approx(rows["aivat"][key])
            assert each["raw"][key] == pytest.approx(rows["raw"][key])
        assert each["p"] == pytest.approx(2 * norm.sf(abs(each["mean_mbb"] / each["se_mbb"])), abs=1e-12)
    assert [each["p_holm"] for each in document["pairs"]] == pytest.approx(
        holm([each["p"] for each in document["pairs"]])
    )


def test_the_cross_table(whole):
    lines = (whole / "table.txt").read_text().splitlines()
    assert lines[0] == "made: leduc, 120 hands of each pair (duplicate, seeds 3), aivat"
    assert lines[2].split() == ["random", "raiser", "caller", "mean"]
    rows = {line.split()[0]: line for line in lines[3:6]}
    assert list(rows) == list(AGENTS)
    document = json.loads((whole / "results.json").read_text())
    means = dict.fromkeys(AGENTS, 0.0)
    for each in document["pairs"]:
        for name, sign in zip(each["pair"], (1, -1), strict=True):
            half = (each["high_mbb"] - each["low_mbb"]) / 2
            assert f" {sign * each['mean_mbb']:+,.0f} ± {half:,.0f}{' *' * each['significant']} " in rows[name]
            means[name] += sign * each["mean_mbb"] / (2 if name == "random" else 1)
    assert {name: agent["mean_mbb"] for name, agent in document["agents"].items()} == pytest.approx(means)
    assert [each["significant"] for each in document["pairs"]] == [True, False]


def test_the_same_command_shows_what_is_over(whole, capsys):
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("match.*")}
    assert cli.main(["experiment", str(whole.parent / "x.toml"), "--out", str(whole), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((whole / "results.json").read_text())
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_another_plan_is_refused(whole, tmp_path, capsys):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace(f"hands = {HANDS}", "hands = 61"))
    assert cli.main(["experiment", str(path), "--out", str(whole)]) == 2
    assert "holds an experiment with another `hands`" in capsys.readouterr().err
    path.write_text(PLAN.replace("cores = 2", "cores = 1\nlevel = 0.01") + "memory_mib = 200\n")
    shutil.copytree(whole, tmp_path / "x")
    assert cli.main(["experiment", str(path), "--out", str(tmp_path / "x"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["level"] == 0.01


def test_progress_is_read_from_the_logs(whole):
    plan = load_plan(whole.parent / "x.toml")
    task = tasks_of(plan, load_game("leduc").game)[0]
    match = MatchProgress(task, whole / "matches" / task.name)
    match.look()
    assert match.done == match.total == 2 * HANDS
    raw = json.loads((whole / "results.json").read_text())["pairs"][0]["raw"]
    assert match.estimate.mean == pytest.approx(raw["mean_mbb"])
    assert match.estimate.half_width == pytest.approx(raw["high_mbb"] - raw["mean_mbb"])


# --- Death, interruption, failure -----------------------------------------------------------------------------------


def test_killed_at_random_moments(whole, tmp_path):
    """Every log and every result is that of the experiment that was left alone: by AIVAT, so all policies are too."""
    folder = kill_and_resume(tmp_path, PLAN, kills=2, seed=1, hands=2 * 2 * HANDS)
    assert logs(folder) == logs(whole)
    assert len(logs(folder)) == 8
    assert results(folder) == results(whole)
    assert table(folder) == table(whole)
    for path in whole.rglob("*.sqlite"):
        mine, theirs = (
            {
                (d.hand, d.betting): (d.action, d.policy.support, d.policy.weights.tobytes())
                for d in stored_decisions(each)
            }
            for each in (folder / path.relative_to(whole), path)
        )
        assert mine == theirs


def test_a_match_that_fails_does_not_stop_the_others(tmp_path):
    bad = stranger(tmp_path, "no_version")
    with Processes(tmp_path) as run:
        text = plan_text({"bad": str(bad), "random": "random", "jam": "all-in"}, game=HOLDEM, hands=5, duplicate=False)
        ended = start(run, text, "x").wait(60)
    assert ended.code == 1
    assert re.search(
        r"^paratus experiment: match 0[12]-bad-\w+-0: .* \(and 1 more matches failed\); the same", ended.last_line
    )
    assert (tmp_path / "x/matches/03-random-jam-0/result.json").exists()
    assert not (tmp_path / "x/results.json").exists()


def test_ctrl_c(tmp_path):
    with Processes(tmp_path) as run:
        runner = start(run, plan_text(AGENTS, hands=100_000, duplicate=False), "x")
        wait_until(lambda: any((tmp_path / "x").rglob("match.log")), "a match has begun")
        runner.send(signal.SIGINT)
        ended = runner.wait()
        assert ended.code == 130
        assert "the same command goes on" in ended.err
        played = hands_played(tmp_path / "x")
        again = start(run, plan_text(AGENTS, hands=100_000, duplicate=False), "x")
        wait_until(lambda: not again.running or hands_played(tmp_path / "x") > played, "it goes on")
        assert again.running
