"""The betting menu: every part of its text against sums done by hand, round trips, refusals and legality."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_play import random_game, random_hand

from protocol.game import Game, load_game, parse_game
from protocol.state import CALL, FOLD, Raise, State, apply, check, start
from solver.menu import (
    LIBRATUS,
    NAMED,
    NO_CAP,
    Bet,
    Bound,
    Chips,
    Menu,
    MenuError,
    Multiple,
    PotShare,
    StreetSizes,
    menu_text,
    parse_menu,
)

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
"""Blinds of 50 and 100, stacks of 20,000; position 1 has the small blind and acts first before the flop only."""
SHORT = replace(HOLDEM, stack=(1000, 1000))
LEDUC = parse_game(
    "limit\nnumPlayers 2\nnumRounds 2\nblind 1 1\nraiseSize 2 4\nmaxRaises 2 2\n"
    "numSuits 2\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0 1\nend gamedef"
).game


def after(betting: str, game: Game = HOLDEM) -> State:
    """The state after calls (c) and raises (r300), as in `r300 c c r600`."""
    state = start(game)
    for word in betting.split():
        state = apply(state, CALL if word == "c" else Raise(int(word[1:] or 0)))
    return state


def offered(menu: str | Menu, betting: str, game: Game = HOLDEM) -> str:
    """The actions in ACPC's letters, raises with their size."""
    menu = parse_menu(menu) if isinstance(menu, str) else menu
    actions = menu.actions(after(betting, game))
    return " ".join(f"r{each.to}" if isinstance(each, Raise) else {FOLD: "f", CALL: "c"}[each] for each in actions)


# Pots after the call: 200 before the flop, 600 after a raise to 300, 1,800 after a bet of 600 into that is called.
SUMS = [
    # Shares of the pot after the call, on top of the call.
    ("50%,100%,a / 100%,a", "", "f c r200 r300 r20000"),
    ("50%,100%,a / 100%,a", "c", "c r200 r300 r20000"),
    ("50%,100%,a / 100%,a", "r300", "f c r900 r20000"),
    ("50%,100%,a / 100%,a", "r300 c", "c r600 r900 r20000"),
    ("50%,100%,a / 100%,a", "r300 c c r900", "f c r2700 r20000"),
    ("33%", "r300 c", "c r498"),
    ("37.5%", "r300 c", "c r525"),
    ("200%", "r300 c", "c r1500"),
    # Halves round to even, as Python does: 301 + 150.5 and 303 + 151.5.
    ("25%", "r301 c", "c r452"),
    ("25%", "r303 c", "c r454"),
    # Multiples of the bet faced on the street; before the flop a first bet multiplies the blind.
    ("preflop 2.5x / 3x", "", "f c r250"),
    ("preflop 2.5x / 3x", "c", "c r250"),
    ("preflop 2.5x / 3x", "r250", "f c r750"),
    ("50% / 3x", "r300 c r500", "f c r900"),
    ("50% / 2.5x", "c c c r300 c r800", "f c r1550"),
    ("50% / 2.5x", "c c r333", "f c r682"),
    # Chips count on the street.
    ("450c", "", "f c r450"),
    ("450c", "r300 c", "c r750"),
    ("450c / 1000c", "r300 c r600", "f c r1300"),
    ("450c / 1000c", "c c c r250", "f c r1100"),
    # Bounds.
    ("min", "", "f c r200"),
    ("min", "r300", "f c r500"),
    ("min", "r300 c", "c r400"),
    ("a", "r300 c", "c r20000"),
    # Too small becomes the smallest raise, too large all-in, and nothing is offered twice.
    ("1%,2%,min", "", "f c r200"),
    ("1c,50%,100000%,a", "", "f c r200 r20000"),
    ("9000%,9900%,9901%,a", "", "f c r18100 r19900 r19902 r20000"),
    ("9950%,9951%,2147483647c", "", "f c r20000"),
    ("100%,50%,a,min", "r300 c", "c r400 r600 r900 r20000"),
    # No raise is legal when the other is all-in, and a call is all that is left.
    ("50%,a", "r20000", "f c"),
]


@pytest.mark.parametrize(("menu", "betting", "expected"), SUMS)
def test_sizes(menu: str, betting: str, expected: str) -> None:
    assert offered(menu, betting) == expected


def test_raise_numbers_count_on_the_street_and_the_last_group_serves_the_rest() -> None:
    menu = "50% / 100% / min"
    assert offered(menu, "") == "f c r200"
    assert offered(menu, "r200") == "f c r600"
    assert offered(menu, "r200 r600") == "f c r1000"
    assert offered(menu, "r200 r600 r1000") == "f c r1400"
    assert offered(menu, "r200 r600 r1000 c") == "c r2000"
    assert offered(menu, "r200 r600 r1000 c c") == "c r2000"
    assert offered(menu, "r200 r600 r1000 c r2000") == "f c r6000"


def test_streets_are_rounds_of_the_game() -> None:
    menu = "flop 33%; turn 75%; river 150%; 100%"
    assert offered(menu, "r300") == "f c r900"
    assert offered(menu, "r300 c") == "c r498"
    assert offered(menu, "r300 c c c") == "c r750"
    assert offered(menu, "r300 c c c c c") == "c r1200"


def test_players_are_told_apart_by_who_acts_first_on_the_street() -> None:
    menu = "turn oop 50%; turn ip 75%; preflop oop min; ip a; 100%"
    assert offered(menu, "") == "f c r200"
    assert offered(menu, "c") == "c r20000"
    assert offered(menu, "r300 c") == "c r900"
    assert offered(menu, "r300 c c") == "c r20000"
    assert offered(menu, "r300 c c c") == "c r600"
    assert offered(menu, "r300 c c c c") == "c r750"
    assert offered(menu, "r300 c c c r900") == "f c r2250"


def test_the_closest_part_counts_in_any_order() -> None:
    parts = ["turn ip 1c", "turn 2c", "ip 3c", "4c"]
    for shift in range(4):
        menu = parse_menu("; ".join(parts[shift:] + parts[:shift]))
        turn, river = menu.streets[2], menu.streets[3]
        assert turn == StreetSizes(((Chips(2),),), ((Chips(1),),))
        assert river == StreetSizes(((Chips(4),),), ((Chips(3),),))


def test_caps() -> None:
    assert offered("min; cap 2", "r200") == "f c r300"
    assert offered("min; cap 2", "r200 r300") == "f c"
    assert offered("min; cap 2", "r200 r300 c") == "c r400"
    assert offered("min / min / -", "r200") == "f c r300"
    assert offered("min / min / -", "r200 r300") == "f c"
    assert offered("flop oop -; flop ip min / -; min", "r200 c") == "c"
    assert offered("flop oop -; flop ip min / -; min", "r200 c c") == "c r300"
    assert offered("flop oop -; flop ip min / -; min", "r200 c c r300") == "f c"


def test_sizes_above_a_share_of_the_chips_behind_become_all_in() -> None:
    # The big blind has 900 behind a raise to 200 and puts in 450 for a raise to 550: half, which is not more than half.
    for menu, expected in (
        ("550c; all-in 50%", "f c r550"),
        ("551c; all-in 50%", "f c r1000"),
        ("551c; all-in 50.1%", "f c r1000"),
        ("551c; all-in 50.2%", "f c r551"),
        ("551c", "f c r551"),
        ("min,551c,600c,a; all-in 25%", "f c r300 r1000"),
    ):
        assert offered(menu, "r200", SHORT) == expected
    assert offered("100%; all-in 50%", "r300 c r600", SHORT) == "f c r1000"


def test_limping() -> None:
    assert offered("50%,a; nolimp", "") == "f r200 r20000"
    assert offered("50%,a; nolimp", "r300") == "f c r600 r20000"
    assert offered("50%,a; nolimp", "c") == "c r200 r20000"
    assert offered("50%,a; nolimp", "r300 c") == "c r600 r20000"
    assert offered("preflop -; nolimp", "") == "f c"
    assert offered("a; nolimp", "", LEDUC) == "c r3"


def test_limit_games_have_one_size() -> None:
    for menu in (LIBRATUS, "a", "river -", "turn 3c; all-in 1%"):
        assert offered(menu, "", LEDUC) == "c r3"
        assert offered(menu, "r3", LEDUC) == "f c r5"
        assert offered(menu, "r3 r5", LEDUC) == "f c"
        assert offered(menu, "r3 c", LEDUC) == "c r7"
    assert offered("a; cap 1", "r3", LEDUC) == "f c"


def test_the_pot_is_what_lies_there_after_the_call() -> None:
    """Three players: 100 + 100 + 50 once the first calls, and dead chips of who folds stay in."""
    game = replace(HOLDEM, num_players=3, blind=(50, 100, 0), stack=(20000,) * 3, first_player=(2, 0, 0, 0), name="3p")
    assert offered("100%", "", game) == "f c r350"
    state = apply(apply(apply(start(game), Raise(300)), CALL), FOLD)
    assert parse_menu("100%").actions(state) == [CALL, Raise(300 + 700)]


def test_a_bet_can_be_added_at_one_state() -> None:
    menu = LIBRATUS.with_bet("r300c/c", 777).with_bet("r300c/c", 450).with_bet("", 333)
    assert offered(menu, "r300 c c") == "c r450 r600 r777 r900 r20000"
    assert offered(menu, "r300 c") == "c r600 r900 r20000"
    assert offered(menu, "") == "f c r200 r300 r333 r20000"
    assert menu == LIBRATUS.with_bet("", 333).with_bet("r300c/c", 450).with_bet("r300c/c", 777)
    assert menu_text(menu) == "50%,100%,a / 100%,a; also r333; also r300c/cr450; also r300c/cr777"
    assert offered(LIBRATUS.with_bet("r300c/c", 600), "r300 c c") == offered(LIBRATUS, "r300 c c")


def test_an_added_bet_was_made_whatever_the_menu_thinks_of_it() -> None:
    assert offered("-; cap 1; all-in 10%; also r300r9000; also r300", "r300") == "f c r9000"
    assert offered("flop -; also r300", "c c") == "c"
    with pytest.raises(MenuError, match=r"^also r300r400: raise to 400: expected a raise to 500-20000$"):
        offered(LIBRATUS.with_bet("r300", 400), "r300")
    with pytest.raises(MenuError, match=r"^also r20000r20000: raise to 20000: no other player has chips left to call"):
        offered(LIBRATUS.with_bet("r20000", 20000), "r20000")


def test_a_street_that_the_menu_leaves_out_is_an_error_when_it_is_reached() -> None:
    menu = parse_menu("flop 33%,75%,a / 100%,a; turn 75%,a")
    assert offered(menu, "r300 c") == "c r498 r750 r20000"
    with pytest.raises(MenuError, match=r"^the menu has no sizes for the preflop: expected a part preflop …, or one"):
        offered(menu, "")
    with pytest.raises(MenuError, match=r"^the menu has no sizes for the river:"):
        offered(menu, "c c c c c c")


def test_nothing_is_offered_once_the_hand_is_over() -> None:
    assert LIBRATUS.actions(apply(after("r300"), FOLD)) == []


def test_the_published_menu() -> None:
    ladder = ((PotShare(50), PotShare(100), Bound.ALL_IN), (PotShare(100), Bound.ALL_IN))
    assert Menu((StreetSizes(ladder, ladder),) * 4) == LIBRATUS
    assert menu_text(LIBRATUS) == "50%,100%,a / 100%,a"
    assert [parse_menu(f" {name} ") for name in NAMED] == [parse_menu(text) for text in NAMED.values()]


TEXTS = {
    " 50% ,100%,\ta/100%,a ": "50%,100%,a / 100%,a",
    "preflop 2.50x , 450c/050%/-": "preflop 2.5x,450c / 50% / -",
    "turn ip 75%,a;turn oop 50%,a": "turn oop 50%,a; turn ip 75%,a",
    "ip min; oop a": "oop a; ip min",
    "oop a; turn -; ip a": "preflop a; flop a; turn -; river a",
    "nolimp; all-in 67.0% ;cap 3;a": "a; cap 3; all-in 67%; nolimp",
    "a;cap 64": "a",
    "also r300c/r600; a; also r200; also r300c/r600": "a; also r200; also r300c/r600",
    "river a\n; flop a": "flop a; river a",
}


@pytest.mark.parametrize(("text", "canonical"), TEXTS.items())
def test_text_is_put_into_one_form(text: str, canonical: str) -> None:
    assert menu_text(parse_menu(text)) == canonical
    assert parse_menu(canonical) == parse_menu(text)


SIZE = "expected 50% (of the pot), 3x (the bet), 450c (whole chips), min or a"
REFUSED = {
    "": f"menu part '': size '': {SIZE}",
    "a;": f"menu part '': size '': {SIZE}",
    "flop": f"menu part 'flop': size '': {SIZE}",
    "turn ip": f"menu part 'turn ip': size '': {SIZE}",
    "a,,50%": f"menu part 'a,,50%': size '': {SIZE}",
    "a / ": f"menu part 'a /': size '': {SIZE}",
    "0": f"menu part '0': size '0': {SIZE}",
    "50": f"menu part '50': size '50': {SIZE}",
    "-50%": f"menu part '-50%': size '-50%': {SIZE}",
    "50 %": f"menu part '50 %': size '50 %': {SIZE}",
    ".5%": f"menu part '.5%': size '.5%': {SIZE}",
    "1e3%": f"menu part '1e3%': size '1e3%': {SIZE}",
    "٥٠%": f"menu part '٥٠%': size '٥٠%': {SIZE}",
    "a,-": f"menu part 'a,-': size '-': {SIZE}",
    "450.5c": f"menu part '450.5c': size '450.5c': {SIZE}",
    "ip turn a": f"menu part 'ip turn a': size 'turn a': {SIZE}",
    "Flop a": f"menu part 'Flop a': size 'Flop a': {SIZE}",
    "pot": f"menu part 'pot': size 'pot': {SIZE}",
    "flop 50%,0%": "menu part 'flop 50%,0%': size 0%: expected 0.01% to 100000%",
    "100001%": "menu part '100001%': size 100001%: expected 0.01% to 100000%",
    "preflop 1x": "menu part 'preflop 1x': size 1x: expected more than 1x, up to 1000x",
    "preflop 0.5x": "menu part 'preflop 0.5x': size 0.5x: expected more than 1x, up to 1000x",
    "0c": "menu part '0c': size 0c: expected 1c to 2147483647c",
    "2147483648c": "menu part '2147483648c': size 2147483648c: expected 1c to 2147483647c",
    "a; cap 0": "cap 0: expected 1 to 64",
    "a; cap 65": "cap 65: expected 1 to 64",
    "a; cap": "menu part 'cap': cap '': expected 1 to 64",
    "a; cap two": "menu part 'cap two': cap 'two': expected 1 to 64",
    "a; cap 1; cap 2": "menu part 'cap 2': cap is given twice: expected it once",
    "a; all-in 0%": "all-in 0%: expected 0.01% to less than 100%",
    "a; all-in 100%": "all-in 100%: expected 0.01% to less than 100%",
    "a; all-in 67": "menu part 'all-in 67': all-in '67': expected a share of the chips behind, as in all-in 67%",
    "a; nolimp yes": "menu part 'nolimp yes': nolimp 'yes': expected nothing after it",
    "a; nolimp; nolimp": "menu part 'nolimp': nolimp is given twice: expected it once",
    "a; also 300": "menu part 'also 300': also '300': expected betting that ends with a raise, as in also r300c/r700",
    "a; also r300c": (
        "menu part 'also r300c': also 'r300c': expected betting that ends with a raise, as in also r300c/r700"
    ),
    "a; also r0": "also '' and 0: expected betting and a raise to chips",
    "a; 50%": "menu part '50%': sizes for every street are given twice: expected them once",
    "-; -": "menu part '-': sizes for every street are given twice: expected them once",
    "turn ip a; turn ip a": "menu part 'turn ip a': sizes for turn ip are given twice: expected them once",
    "turn oop a": "turn: sizes for oop only: expected them for both players",
    "flop a; ip a": "preflop: sizes for ip only: expected them for both players",
    "cap 3": "a menu without sizes: expected them for a street at least, as in 50%,a / a",
    "3x": "flop: 3x as the first bet, where no bet is faced: expected %, c, min or a",
    "river a,2.5x / a; preflop a": "river: 2.5x as the first bet, where no bet is faced: expected %, c, min or a",
    "50%,a / a,50.0%,50%": "preflop: sizes a,50%,50%: expected each once",
    "a," * 10_001: "a menu of 20002 characters: expected at most 20000",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=[text[:20] for text in REFUSED])
def test_bad_text_is_refused_with_the_part_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(MenuError) as refusal:
        parse_menu(text)
    assert str(refusal.value) == message


def test_menus_made_without_text_are_held_to_the_same() -> None:
    ladder = ((Bound.ALL_IN,),)
    streets = (StreetSizes(ladder, ladder),) * 4
    for broken, message in (
        (lambda: Menu(streets[:3]), "a menu of 3 streets: expected 4"),
        (lambda: Menu((None,) * 4), "a menu without sizes"),
        (lambda: Menu((StreetSizes((), ladder), *streets[1:])), "preflop: no sizes: expected sizes, or - for no raise"),
        (lambda: Menu(streets, all_in_percent=float("nan")), "all-in nan%: expected"),
        (lambda: Menu(streets, extra=frozenset({Bet("x", 5)})), "also 'x' and 5: expected betting"),
        (lambda: PotShare(float("inf")), "size inf%: expected"),
        (lambda: Multiple(float("nan")), "size nanx: expected"),
        (lambda: LIBRATUS.with_bet("", -5), "also '' and -5: expected betting"),
    ):
        with pytest.raises(MenuError) as refusal:
            broken()
        assert str(refusal.value).startswith(message)


def ladders(*, multiples_first: bool) -> st.SearchStrategy:
    """Ladders of any sizes; multiples of a bet come first only where a bet is faced."""
    plain = st.one_of(
        st.builds(PotShare, st.floats(0.01, 100_000) | st.integers(1, 300)),
        st.builds(Chips, st.integers(1, 2**31 - 1) | st.integers(1, 3000)),
        st.sampled_from(Bound),
    )
    any_size = plain | st.builds(Multiple, st.floats(1, 1000, exclude_min=True) | st.sampled_from([2, 2.5, 3]))

    def group(sizes: st.SearchStrategy) -> st.SearchStrategy:
        return st.lists(sizes, unique=True, max_size=4).map(tuple)

    later = st.lists(group(any_size), max_size=3)
    return st.tuples(group(any_size if multiples_first else plain), later).map(lambda each: (each[0], *each[1]))


def menus(*, everywhere: bool) -> st.SearchStrategy:
    """Any menu; `everywhere` gives each street sizes and adds no bets, so that play can go anywhere."""

    def street(ladder: st.SearchStrategy) -> st.SearchStrategy:
        both = ladder.map(lambda each: StreetSizes(each, each)) | st.builds(StreetSizes, ladder, ladder)
        return both if everywhere else st.none() | both

    preflop, later = street(ladders(multiples_first=True)), street(ladders(multiples_first=False))
    by_street = st.tuples(preflop, later, later, later) | later.map(lambda each: (each,) * 4)
    bets = st.builds(Bet, st.from_regex(r"[cfr0-9/]{0,20}", fullmatch=True), st.integers(1, 2**31 - 1))
    return st.builds(
        Menu,
        by_street.filter(any),
        cap=st.just(NO_CAP) | st.integers(1, NO_CAP),
        all_in_percent=st.none() | st.floats(0.01, 100, exclude_max=True),
        limp=st.booleans(),
        extra=st.just(frozenset()) if everywhere else st.frozensets(bets, max_size=3),
    )


@given(menus(everywhere=False))
def test_text_reads_back_to_exactly_the_same_menu(menu: Menu) -> None:
    text = menu_text(menu)
    assert parse_menu(text) == menu
    assert menu_text(parse_menu(text)) == text
    assert hash(parse_menu(text)) == hash(menu)


@given(st.text("0123456789%xc.,;/- amin flop turn oop cap all-in nolimp also", max_size=40))
def test_any_text_is_a_menu_or_refused_in_one_line(text: str) -> None:
    try:
        menu = parse_menu(text)
    except MenuError as error:
        message = str(error)
    else:
        message = "as expected" if parse_menu(menu_text(menu)) == menu else ""
    assert re.fullmatch(r".*expected.*", message)


@given(menus(everywhere=True), st.integers(0, 2**32 - 1))
def test_only_legal_actions_are_offered_in_any_game(menu: Menu, seed: int) -> None:
    """The oracle is `check`; the games have any number of players, unequal stacks, and limits."""
    rng = Random(seed)
    for state in random_hand(rng, random_game(rng)).states[:-1]:
        assert_legal(menu, state)


def assert_legal(menu: Menu, state: State) -> None:
    actions = menu.actions(state)
    for action in actions:
        check(state, action)
    raises = [action.to for action in actions if isinstance(action, Raise)]
    others = [action for action in actions if not isinstance(action, Raise)]
    assert actions == [*others, *(Raise(to) for to in sorted(set(raises)))]
    owes = state.committed[int(state.actor or 0)] < state.maximum
    opened = any(isinstance(action, Raise) for action in state.actions)
    limp_refused = not menu.limp and state.street == 0 and owes and not opened and bool(raises)
    assert others == ([FOLD] if owes else []) + ([] if limp_refused else [CALL])
    assert len(actions) > 0


def test_hands_played_from_a_menu_reach_every_raise_number_and_bound() -> None:
    """Play by the menu itself stays legal to the end; random play seldom gets to a fourth raise."""
    rng, menu = Random(7), parse_menu("preflop 2.5x,a / 2.2x; 40%,a / min,75% / 2x; all-in 80%; nolimp")
    seen: Counter[int] = Counter()
    for _ in range(2000):
        state = start(rng.choice([HOLDEM, SHORT]))
        while not state.finished:
            assert_legal(menu, state)
            seen[sum(isinstance(action, Raise) for action in state.history[-1])] += 1
            state = apply(state, rng.choice(menu.actions(state)[-3:]))
    assert min(seen[raised] for raised in range(5)) >= 5
