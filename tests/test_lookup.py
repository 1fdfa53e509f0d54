"""From a public state to what a blueprint does: exact where the tree has it, sensible and legal where it does not."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest
from blueprint_files import HOLDEM, file_of, folder, random_averages, small_game, write
from chi_square import assert_frequencies
from random_play import random_action, random_deal, random_game, random_hand

from blueprints.cards.exact import ExactCards
from blueprints.lookup import Lookup
from blueprints.settings import BlueprintSettings
from blueprints.storage import Blueprint, write_blueprint
from blueprints.translation import smaller_probability
from blueprints.tree import BettingTreeError, build_tree
from protocol.cards import cards_text
from protocol.errors import BlueprintError
from protocol.game import Game, load_game
from protocol.state import CALL, FOLD, Raise, State, apply, check, raise_bounds, replay, start
from protocol.wire import read_betting
from solver.menu import parse_menu

LEDUC = load_game("leduc").game
LIMIT = load_game("holdem.limit.2p.reverse_blinds").game
GAMES = {"holdem": HOLDEM, "small": small_game(), "leduc": LEDUC, "limit": LIMIT}
every_game = pytest.mark.parametrize("game", GAMES)


@cache
def lookup_of(game: Game, menu: str = "") -> Lookup:
    path = write(folder() / f"lookup-{abs(hash(menu))}.blueprint", game, menu) if menu else file_of(game)
    blueprint = Blueprint.open(path)
    return Lookup(blueprint, blueprint.cards(folder(), rivers=False))


def never(place: int) -> float:
    raise AssertionError("drawn though everything is in the tree")


def always(number: float):
    return lambda place: number


def drawn(seed: int):
    """One number for each place, as in a hand."""
    rng = Random(seed)
    numbers = [rng.random() for _ in range(300)]
    return numbers.__getitem__


def board_of(deal, state: State):
    return deal.board[: state.game.board_cards_by(state.street)]


def at(betting: str, game: Game = HOLDEM) -> State:
    return read_betting(start(game), betting)


def place_of(betting: str, draw=never, menu: str = "", game: Game = HOLDEM):
    """What the spot is taken for: the tree's betting there, actions translated, jumps."""
    lookup = lookup_of(game, menu)
    place = lookup.place(at(betting, game), draw)
    assert place is not None
    return bettings(lookup)[place.node], place.translated, place.jumps


@cache
def bettings(lookup: Lookup) -> dict[int, str]:
    return {node: state.betting for node, state in lookup.blueprint.tree.walk(start(lookup.blueprint.game))}


# --- In the tree ----------------------------------------------------------------------------------------------------


@every_game
def test_every_decision_of_the_tree_is_found(game):
    """With its own actions and, gathered hand by hand, its own numbers."""
    lookup, rng = lookup_of(GAMES[game]), Random(game)
    tree = lookup.blueprint.tree
    nodes = list(tree.walk(start(GAMES[game])))
    holes = sorted(combinations(sorted(GAMES[game].deck()), GAMES[game].num_hole_cards), key=lambda hole: hole[::-1])
    assert len(nodes) == tree.num_nodes > 20
    for node, state in nodes:
        board = board_of(random_deal(rng, GAMES[game]), state)
        found = lookup.policy(state, board, never)
        assert found.place == lookup.place(state, never)
        assert (found.place.node, found.place.translated, found.place.jumps, found.replaced) == (node, 0, 0, 0)
        assert list(found.actions) == tree.actions(node)
        buckets, rows = lookup.cards.buckets(board), lookup.blueprint.rows(node)
        assert found.shares.shape == (len(found.actions), len(holes))
        for column in rng.sample(range(len(holes)), min(20, len(holes))):
            dead = {*holes[column]} & {*board}
            expected = [0] * len(rows) if dead else rows[:, buckets[column]].tolist()
            assert found.shares[:, column].tolist() == expected
        for number, action in enumerate(found.actions):
            taken = lookup.likelihood(state, action, board, never)
            assert taken.tobytes() == found.probabilities[number].tobytes()


# --- Off the tree ---------------------------------------------------------------------------------------------------


@every_game
def test_a_legal_policy_for_every_hand_wherever_hands_go(game):
    lookup, rng = lookup_of(GAMES[game]), Random(f"off {game}")
    columns = len(lookup.cards.buckets(()))
    seen: Counter[str] = Counter()
    for hand in range(1500 if game == "holdem" else 300):
        played = random_hand(rng, GAMES[game])
        draw = drawn(hand)
        for state in played.states[:-1]:
            board = board_of(played.deal, state)
            found = lookup.policy(state, board, draw)
            for action in found.actions:
                check(state, action)
            assert len(set(found.actions)) == len(found.actions)
            sums = found.shares.sum(axis=0, dtype=int)
            dead = columns - len(
                list(combinations(range(len(GAMES[game].deck()) - len(board)), GAMES[game].num_hole_cards))
            )
            assert (sums == 0).sum() == dead
            assert set(sums.tolist()) <= {0, 255}
            tree, place = lookup.blueprint.tree, found.place
            assert (tree.street[place.node], tree.player[place.node]) == (state.street, state.actor)
            seen["decisions"] += 1
            seen["translated"] += place.translated > 0
            seen["jumps"] += place.jumps > 0
            seen["replaced"] += found.replaced > 0
    if GAMES[game].no_limit:  # the walk above was worth something
        assert min(seen[what] for what in ("translated", "jumps", "replaced")) > 0, seen
    assert seen["jumps"] < seen["decisions"]


def test_our_own_raises_are_found_again():
    """However far the real pot is from the tree's: what we did for a raise of the tree is that raise later."""
    lookup, rng = lookup_of(HOLDEM), Random("own")
    tree, checked = lookup.blueprint.tree, 0
    for hand in range(1500):
        state, draw = start(HOLDEM), drawn(hand)
        while not state.finished:
            place = lookup.place(state, draw)
            actions, groups, _ = lookup.real_actions(place.node, state)
            edges = tree.edges(place.node)
            if rng.random() < 0.5:
                number = rng.randrange(len(groups))
                action, edge = actions[groups[number]], edges[number]
                after = apply(state, action)
                leads = int(tree.leads[edge])
                if not after.finished and groups.count(groups[number]) == 1 and isinstance(action, Raise):
                    there = lookup.place(after, draw)
                    assert there.translated == place.translated
                    if tree.player[max(leads, 0)] == after.actor and leads >= 0:
                        assert (there.node, there.jumps) == (leads, place.jumps)
                        checked += place.translated > 0
            else:
                after = apply(state, random_action(rng, state))
            state = after
    assert checked > 100


def test_a_size_between_two_is_taken_for_either_by_the_formula():
    """A bet of 600 into 500 lies between 75% and all-in: 19,750 into 500."""
    lookup, hands = lookup_of(HOLDEM), 3000
    state = at("r250c/r850")
    counts = Counter(bettings(lookup)[lookup.place(state, drawn(hand)).node] for hand in range(hands))
    share = smaller_probability(0.75, 1.2, 39.5)
    assert set(counts) == {"r250c/r625", "r250c/r20000"}
    assert_frequencies([counts["r250c/r625"], counts["r250c/r20000"]], [share, 1 - share])


BY_HAND = [
    # Betting, draw, what it is taken for, actions translated, jumps.
    ("", 0.0, "", 0, 0),
    ("r250", 0.0, "r250", 0, 0),
    # 0.6 of the pot: between a limp and 250 chips, 0.75; the limp with 0.15 / (0.75 × 1.6) = 1/8.
    ("r220", 0.12, "c", 1, 0),
    ("r220", 0.13, "r250", 1, 0),
    # Then the big blind calls: the tree's checks; or raises: of 440 chips by the pot, which the tree has as 300.
    ("r220c/", 0.12, "cc/", 1, 0),
    ("r220r660", 0.12, "cr250", 2, 0),
    # A min-bet on the flop, 1/5 of the pot, as a check with 0.55 / (0.75 × 1.2) = 0.61.
    ("r250c/r350", 0.6, "r250c/c", 1, 0),
    ("r250c/r350", 0.62, "r250c/r625", 1, 0),
    # After it our check in the tree is our call in fact, and the turn comes in both.
    ("r250c/r350c/", 0.6, "r250c/cc/", 1, 0),
    # A raise of a bet is never taken for a call, which would end the street: the smallest raise.
    ("r250c/r625r1000", 0.0, "r250c/r625r1875", 1, 0),
    ("r250c/r625r1000", 0.99, "r250c/r625r1875", 1, 0),
    # All-in is all-in.
    ("r250c/r625r20000", 0.0, "r250c/r625r20000", 0, 0),
    ("r251c/r20000", 0.0, "r250c/r20000", 1, 0),
    # Taken for all-in and called, but the hand goes on: the flop with the most similar chips.
    ("r2000c/", 0.99, "cr250r750c/", 1, 1),
    # More raises than the tree has: the most similar decision of the same player who owes chips.
    ("r250r750r2250", 0.0, "cr250r750", 0, 1),
]


@pytest.mark.parametrize(("betting", "draw", "taken_for", "translated", "jumps"), BY_HAND)
def test_by_hand(betting, draw, taken_for, translated, jumps):
    assert place_of(betting, always(draw)) == (taken_for, translated, jumps)


def test_bets_above_the_largest_of_a_tree_without_all_in():
    """All-in is one more size there: 39.5 pots after 75%."""
    menu = "preflop 2.5x,a / 100%,a; flop 75% / 100%,a; 75%,a / -; cap 2"
    share = smaller_probability(0.75, 4.0, 39.5)
    for betting, draw, expected in (
        ("r250c/r20000", 0.0, ("r250c/cr625r20000", 1, 1)),  # in position against all-in, after the same preflop
        ("r250c/cr20000", 0.0, ("r250c/r625r20000", 1, 1)),
        ("r250c/r2250", share - 0.01, ("r250c/r625", 1, 0)),
        ("r250c/r2250", share + 0.01, ("r250c/cr625r20000", 1, 1)),
        ("r250c/r2250r9000", share + 0.01, ("cr250r750c/r1875r5625", 1, 2)),  # over all-in
        ("r250c/r625r3125", 0.0, ("r250c/r625r1875", 1, 0)),  # raises have all-in: as ever
        ("r250c/r625r3125", 0.99, ("r250c/r625r20000", 1, 0)),
    ):
        assert place_of(betting, always(draw), menu) == expected, betting
    assert place_of("r250c/r2250c/", always(share + 0.01), menu)[1:] == (1, 2)  # called, and the hand goes on
    lookup, state = lookup_of(HOLDEM, menu), at("r250c/")
    assert lookup.edge(state, Raise(20_000), always(0.0)) is None  # nothing of the node's own
    # Nobody faces all-in on the flop of this one: it is the largest bet.
    assert place_of("r250c/r20000", always(0.99), "preflop 2.5x / -; flop 75% / -; 75%,a / -") == ("r250c/r625", 1, 0)


def test_trees_without_limping():
    """Who just calls is taken for the smallest raise; then there is nothing to fold to, and that is a check."""
    menu = "nolimp; preflop 2.5x / 100%,a; 75%,a / -; cap 2"
    assert place_of("c", menu=menu) == ("r250", 1, 0)
    lookup = lookup_of(HOLDEM, menu)
    found = lookup.policy(at("c"), (), never)
    rows = lookup.blueprint.rows(found.place.node)
    # Fold and call are both a check; the raise of the pot, 500 more than the call, is that of the real pot, 200 more.
    assert lookup.blueprint.tree.actions(found.place.node) == [FOLD, CALL, Raise(750), Raise(20_000)]
    assert found.actions == (CALL, Raise(300), Raise(20_000))
    assert found.replaced == 1
    buckets = lookup.cards.buckets(())
    assert np.array_equal(found.shares, np.stack([rows[0] + rows[1], rows[2], rows[3]])[:, buckets])


def test_raises_are_the_same_share_of_the_real_pot_within_the_legal_bounds():
    lookup = lookup_of(HOLDEM)
    for betting, draw, expected in (
        ("r250c/", 0.0, (CALL, Raise(625), Raise(20_000))),  # in the tree
        ("r300c/", 0.0, (CALL, Raise(750), Raise(20_000))),  # 75% of 600
        ("r300c/r500", 0.7, (FOLD, CALL, Raise(1500), Raise(20_000))),  # the pot, 1,000, after the call
        ("r220c/", 0.12, (CALL, Raise(550), Raise(20_000))),  # 75% of 440, in the tree of 200
        ("r250c/r350", 0.6, (CALL, Raise(875), Raise(20_000))),  # as after a check: 75% of 700, on top of the call
        ("r250c/r19900", 0.999, (FOLD, CALL)),  # as after all-in
        ("r250c/r20000", 0.0, (FOLD, CALL)),
        ("r250r750r2250", 0.0, (FOLD, CALL)),
    ):
        found = lookup.policy(at(betting), board_of(random_deal(Random(1), HOLDEM), at(betting)), always(draw))
        assert found.actions == expected, betting


def test_an_action_that_the_rules_forbid_is_replaced_and_counted():
    lookup = lookup_of(HOLDEM)
    # A check before a bet of less than the big blind behind: the tree raises, the player in fact is all-in with a call.
    state = at("r250c/cr19950")
    assert raise_bounds(state) == (20_000, 20_000)
    found = lookup.policy(state, board_of(random_deal(Random(1), HOLDEM), state), always(0.0))
    assert bettings(lookup)[found.place.node] == "r250c/cr625"
    assert found.actions == (FOLD, CALL, Raise(20_000))
    assert found.replaced == 1  # the raise of the pot would go beyond the stack
    state = at("cr20000")
    node = next(node for node, betting in bettings(lookup).items() if betting == "cr250")
    assert raise_bounds(state) is None
    assert lookup.real_actions(node, state) == ((FOLD, CALL), [0, 1, 1, 1], 2)


def test_limit_games_have_one_size():
    lookup = lookup_of(LIMIT)
    state = at("rrc/r", LIMIT)
    found = lookup.policy(state, board_of(random_deal(Random(1), LIMIT), state), never)
    assert found.actions == (FOLD, CALL, Raise(50))
    assert (found.place.translated, found.place.jumps) == (0, 0)
    capped = lookup.place(at("rrr", LIMIT), never)  # the tree stops after two raises
    assert (capped.translated, capped.jumps) == (0, 1)


def test_actions_of_anyone_are_taken_for_actions_of_the_tree():
    lookup, state = lookup_of(HOLDEM), at("r250c/")
    board = board_of(random_deal(Random(2), HOLDEM), state)
    node = lookup.place(state, never).node
    rows, buckets = lookup.blueprint.rows(node), lookup.cards.buckets(board)
    live = lookup.policy(state, board, never).shares.any(axis=0)
    for action, draw, edge in (
        (CALL, 0.5, 0),
        (Raise(625), 0.5, 1),
        (Raise(350), 0.6, 0),
        (Raise(350), 0.62, 1),
        (Raise(20_000), 0.0, 2),
    ):
        assert lookup.edge(state, action, always(draw))[1] == edge
        taken = lookup.likelihood(state, action, board, always(draw))
        assert taken == pytest.approx(np.where(live, rows[edge, buckets] / 255, 0))
    assert lookup.edge(state, FOLD, never) is None
    assert lookup.likelihood(state, FOLD, board, never) is None


def test_one_hand_is_taken_for_one_line():
    """A later decision sees the earlier actions as the earlier decision did."""
    lookup, rng = lookup_of(HOLDEM), Random("line")
    tree, compared = lookup.blueprint.tree, 0
    above = {
        int(leads): node for node in range(tree.num_nodes) for leads in tree.leads[slice(*tree.first[node : node + 2])]
    }
    for hand in range(300):
        played, draw = random_hand(rng, HOLDEM), drawn(hand)
        places = [lookup.place(state, draw) for state in played.states[:-1]]
        assert places == [lookup.place(state, draw) for state in played.states[:-1]]
        for before, after in pairwise(places):
            assert after.translated >= before.translated
            if after.jumps == before.jumps:
                assert above[after.node] == before.node
                compared += after.translated > 0
    assert compared > 100


def test_what_draws_do_not_decide_is_not_drawn():
    """Numbers are asked for by the place of the action in the hand, only where an action is between two."""
    lookup, asked = lookup_of(HOLDEM), []

    def draw(place):
        asked.append(place)
        return 0.5

    lookup.place(at("r300c/cr700c/cr20000"), draw)
    assert asked == [0, 3]


# --- The rest -------------------------------------------------------------------------------------------------------


def test_the_hand_must_not_be_over():
    with pytest.raises(BlueprintError, match="the hand is over"):
        lookup_of(HOLDEM).place(at("f"), never)


def test_other_cards_are_refused():
    lookup, other = lookup_of(HOLDEM), lookup_of(LEDUC)
    with pytest.raises(BlueprintError, match="card abstraction") as caught:
        Lookup(lookup.blueprint, other.cards)
    assert "\n" not in str(caught.value)


def test_boards_are_forgotten():
    lookup, rng = lookup_of(HOLDEM), Random("boards")
    state = replay(HOLDEM, [CALL, CALL])
    for _ in range(100):
        board = board_of(random_deal(rng, HOLDEM), state)
        found = lookup.policy(state, board, never)
        dead = [cards_text(hole) for hole in combinations(sorted(HOLDEM.deck()), 2) if {*hole} & {*board}]
        assert (~found.shares.any(axis=0)).sum() == len(dead)
    assert len(lookup._boards) <= 16


def test_games_and_menus_drawn_at_random(tmp_path):
    """Unequal stacks, antes, limits, one to four streets: every decision of a tree is found, and no hand gets lost."""
    rng, games, decisions = Random("games"), 0, 0
    menus = (
        "100%,a / 100%,a; cap 2",
        "50% / a / -",
        "nolimp; min,a / -; cap 1",
        "-",
        "33%,75%,150% / 100%; all-in 50%",
    )
    while games < 40:
        game, menu = random_game(rng), rng.choice(menus)
        if game.num_players != 2 or len(game.deck()) > 12 or sum(game.num_board_cards) > 3:
            continue
        try:
            tree = build_tree(game, parse_menu(menu), max_nodes=1000)
        except BettingTreeError:
            continue
        cards, settings = ExactCards(game), BlueprintSettings(name="random", menu=menu)
        averages = random_averages(tree, cards.counts, games)
        path = tmp_path / "x.blueprint"
        write_blueprint(path, settings=settings, game=game, tree=tree, cards=cards, averages=averages, training={})
        lookup = Lookup(Blueprint.open(path, verify=True), cards)
        for node, state in tree.walk(start(game)):
            place = lookup.place(state, never)
            assert (place.node, place.translated, place.jumps) == (node, 0, 0)
            assert list(lookup.real_actions(node, state)[0]) == tree.actions(node)
        for hand in range(10):
            played = random_hand(rng, game)
            for state in played.states[:-1]:
                found = lookup.policy(state, board_of(played.deal, state), drawn(hand))
                if found is None:
                    assert not (tree.player[slice(*_of(tree, state.street))] == state.actor).any()
                    continue
                for action in found.actions:
                    check(state, action)
                assert (tree.street[found.place.node], tree.player[found.place.node]) == (state.street, state.actor)
                decisions += 1
        games += 1
    assert decisions > 800


def _of(tree, street):
    nodes = tree.nodes_of(street)
    return nodes.start, nodes.stop
