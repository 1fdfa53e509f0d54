"""`python -m studies.button`: what it compares, and its table. What it finds in limit hold'em: `proof/`."""

from __future__ import annotations

import numpy as np
import pytest

from blueprints.cards.made_up import made_up_rows
from blueprints.cards.settings import CardSettings
from blueprints.settings import load_settings
from blueprints.tree import build_tree
from protocol.state import Raise, start
from studies.button import ButtonResult, ButtonSubject, main, measure, report, sizes, subjects, text


def tree_of(subject: ButtonSubject) -> str:
    return build_tree(subject.game, subject.menu).digest


def raises(subject: ButtonSubject, betting: str) -> int:
    """How many sizes there are after it."""
    tree = build_tree(subject.game, subject.menu)
    (node,) = [node for node, state in tree.walk(start(subject.game)) if state.betting == betting]
    return sum(isinstance(action, Raise) for action in tree.actions(node))


def test_few_sizes_are_those_of_small_and_each_other_game_differs_as_it_is_named() -> None:
    limit, few, blind, button, both, no_calls, *depths = subjects()
    small, standard = load_settings("small"), load_settings("standard")
    assert not limit.game.no_limit
    assert tree_of(few) == build_tree(small.load_game(), small.load_menu()).digest
    assert tree_of(both) == build_tree(standard.load_game(), standard.load_menu()).digest
    for betting, acts in [("", "button"), ("r250", "blind"), ("r250c/", "blind"), ("r250c/c", "button")]:
        counts = {"few": raises(few, betting), "blind": raises(blind, betting), "button": raises(button, betting)}
        (more,) = [name for name, count in counts.items() if count > counts["few"]]
        assert (more, min(counts.values())) == (acts, 2)
    assert build_tree(no_calls.game, no_calls.menu).num_nodes < build_tree(few.game, few.menu).num_nodes
    assert [each.game.stack[0] / max(each.game.blind) for each in depths] == [25, 50, 100]
    assert all(each.menu == few.menu for each in depths)


def test_a_game_is_trained_and_plays_itself() -> None:
    cards = made_up_rows(CardSettings(flop=8, turn=8, river=8))
    found, again = [measure(subjects()[0], cards, walks=45, boards=3, seed=1, threads=threads) for threads in (1, 2)]
    assert np.array_equal(found.button_mbb, again.button_mbb)
    assert found.decisions == 6378
    assert found.button_mbb.shape == (3,)
    assert found.button_mbb.std() > 0
    assert list(found.opens) == ["fold", "call", "raise to 20"]
    assert sum(found.opens.values()) == pytest.approx(1, abs=1e-3)


def test_games_are_compared_board_by_board() -> None:
    """Luck of the boards that all share is no difference."""
    luck = np.array([-500.0, 0.0, 500.0, 100.0])
    rows = [ButtonResult(name, 10, luck + more, {"fold": 0.25, "raise to 250": 0.75}, 1.0)
            for name, more in (("limit", 80.0), ("few", 100.0), ("many", 130.0))]  # fmt: skip
    data = report(rows, 40, 1)
    assert [row["more_mbb"] for row in data["games"]] == [None, None, (30.0, 0.0)]
    assert data["games"][1]["button_mbb"] == (125.0, pytest.approx(1.96 * luck.std(ddof=1) / 2, abs=0.05))
    assert "| many | 10 | +155.0 ± 403.1 | +30.0 ± 0.0 | fold 25 %, raise to 250 75 % |" in text(data)


@pytest.mark.parametrize("option", ["--walks=19", "--boards=1", "--seed=-1", "--threads=0"])
def test_numbers_that_are_too_small(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([option])
    assert f"{option.replace('=', ' ')}: expected " in capsys.readouterr().err


def test_sizes_are_by_player() -> None:
    """Before the flop the button acts first, later the big blind."""
    few = dict.fromkeys(("preflop", "flop", "turn", "river"), "a")
    menu = sizes(few | {"preflop": "3x", "flop": "33%"}, few)
    preflop, flop, *_ = menu.streets
    assert preflop is not None
    assert flop is not None
    assert [str(size) for ladder in (preflop.oop, preflop.ip, flop.oop, flop.ip) for size in ladder[0]] == [
        "3x", "a", "a", "33%",
    ]  # fmt: skip
