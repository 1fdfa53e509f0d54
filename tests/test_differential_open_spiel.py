"""Our rules against open_spiel's `universal_poker`: random hands walked in lockstep, cards and all.

At every decision both must agree on whose turn it is, chips, street, betting text, which kinds of action are legal and
both bounds of a raise; at the end on the payoffs, to the last bit (open_spiel splits pots in double precision as the
reference dealer does, and so do we).

open_spiel wraps the reference dealer's own rules and hand ranks: agreeing with it is agreeing with the authority, and
no disagreement had to be excluded. What the wrapper cannot express is left out of the invented games:

- Games without any blind, which it refuses: its actions are fold 0, call 1, raise to x = x, so that a raise to one chip
  would be a call.
- Stacks in limit games, which it drops. So our one departure from the reference (short stacks in limit games, see
  `protocol.state`) never comes up here.
- Limit games of more than four players: for want of stacks it crashes the process.
- `maxRaises` above 255, which it keeps in one byte.

Its small decks keep the bottom ranks and first suits where ours keep the top ranks and last suits. A deck that
lacks ranks never has both ace and deuce, so shifting ranks and suits maps one onto the other, and hands compare alike.

Asking it for the legal actions of a 20,000-chip stack makes a list of 20,001 numbers in a tenth of a millisecond. The
no-limit hold'em games take most of the time here for it; the invented games have stacks of at most 100 big blinds.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import count

import pyspiel
import pytest
from differential_play import SHARES, note_showdown, pot_raise_to, random_action

from protocol.cards import Card, rank_of, suit_of
from protocol.dealing import CardStream
from protocol.errors import IllegalAction
from protocol.game import Game, GameError, Position, find_game, game_text, load_game, parse_game
from protocol.state import (
    CALL,
    FOLD,
    Action,
    Call,
    Fold,
    Raise,
    RaiseBounds,
    State,
    apply,
    at_action_cap,
    can_fold,
    check,
    payoffs,
    raise_bounds,
    start,
)

SHIPPED = {
    "holdem.nolimit.2p.reverse_blinds": 80_000,
    "holdem.nolimit.3p": 50_000,
    "holdem.limit.2p.reverse_blinds": 40_000,
    "holdem.limit.3p": 40_000,
    "leduc": 30_000,
    "leduc.limit.2p": 10_000,
    "kuhn.limit.3p": 10_000,
    "kuhn.limit.2p": 3_000,
}
"""Random decisions in each shipped definition, as a proof; see `SHARES`."""

INVENTED = {"nolimit": 150_000, "limit": 50_000}
"""Random decisions in definitions that nobody plays, as a proof."""

DECISIONS_PER_INVENTED_GAME = 150

SEED = 20_260_000

_RAISE_IN_LIMIT = 2
FEARLESS = (0.15, 1, 1)
WEIGHTS = ((1, 1, 1), (1, 1, 1), FEARLESS)
"""Of fold, call and raise, by hand: every third hand folds less, so that late streets and showdowns come up."""


# --- The two sides --------------------------------------------------------------------------------------------------


def open_spiel_game(text):
    """The game that open_spiel itself reads from a definition."""
    parameters = pyspiel.universal_poker.load_universal_poker_from_acpc_gamedef(text).get_parameters()
    parameters["bettingAbstraction"] = "fullgame" if parameters["betting"] == "nolimit" else "fcpa"
    return pyspiel.load_game("universal_poker", parameters)


def chance_outcome(game: Game, card: Card) -> int:
    """open_spiel's number of a card: it counts its deck by rank, then suit."""
    return (rank_of(card) - (13 - game.num_ranks)) * game.num_suits + suit_of(card) - (4 - game.num_suits)


def open_spiel_action(game: Game, action: Action) -> int:
    match action:
        case Fold():
            return 0
        case Call():
            return 1
        case Raise(to):
            return to if game.no_limit else _RAISE_IN_LIMIT


def legal_in_open_spiel(game: Game, theirs) -> tuple[bool, bool, bool, tuple[int, int] | None]:
    """Fold, call, raise, and the bounds of a raise in a no-limit game."""
    mask = theirs.legal_actions_mask()
    fold, call = mask[0] == 1, mask[1] == 1
    sizes = mask.count(1) - fold - call
    if not sizes:
        return fold, call, False, None
    low = mask.index(1, 2)
    high = low + sizes - 1
    assert mask[low : high + 1].count(1) == sizes, "open_spiel's sizes have gaps"
    if not game.no_limit:
        assert low == high == _RAISE_IN_LIMIT
        return fold, call, True, None
    return fold, call, True, (low, high)


def information_texts(state: State) -> tuple[str, str]:
    """What open_spiel says of a state before and after the cards, from our side."""
    game = state.game
    player = state.actor if state.actor is not None else int(pyspiel.PlayerId.TERMINAL)
    money = " ".join([str(stack - chips) for stack, chips in zip(game.stack, state.committed, strict=True)])
    pot = state.maximum * state.folded.count(False)
    head = f"[Round {state.street}][Player: {player}][Pot: {pot}][Money: {money}][Private: "
    return head, f"[Sequences: {state.betting.replace('/', '|')}]"


def refused(state: State, action: Action) -> bool:
    try:
        check(state, action)
    except IllegalAction:
        return True
    return False


def compare(state: State, theirs, seen: Counter) -> RaiseBounds | None:
    """One decision; returns our bounds of a raise."""
    game, bounds = state.game, raise_bounds(state)
    assert theirs.current_player() == state.actor
    fold, call, may_raise, sizes = legal_in_open_spiel(game, theirs)
    assert (fold, call, may_raise) == (can_fold(state), True, bounds is not None)
    assert refused(state, FOLD) == (not fold)
    assert not refused(state, CALL)
    if bounds is None:
        assert refused(state, Raise(max(game.stack)))
    else:
        low, high = bounds
        assert sizes == (bounds if game.no_limit else None)
        assert not refused(state, Raise(low))
        assert not refused(state, Raise(high))
        assert refused(state, Raise(low - 1))
        assert refused(state, Raise(high + 1))
        seen["all-in for less than the minimum"] += bounds.low < state.min_raise_to
    seen["decisions"] += 1
    seen["at the action cap"] += at_action_cap(state)
    return bounds


def play_hand(game: Game, theirs, deal, choose, seen: Counter) -> None:
    """One hand in lockstep; `choose` picks an action from a state and its raise bounds."""
    cards = iter([*(card for hole in deal.hole for card in hole), *deal.board])
    state = start(game)
    while True:
        while theirs.is_chance_node():
            theirs.apply_action(chance_outcome(game, next(cards)))
        text = theirs.information_state_string(0)
        head, tail = information_texts(state)
        assert text.startswith(head), (text, head)
        assert text.endswith(tail), (text, tail)
        assert theirs.is_terminal() == state.finished
        if state.finished:
            break
        bounds = compare(state, theirs, seen)
        action = choose(state, bounds)
        seen[type(action).__name__] += 1
        if isinstance(action, Raise) and bounds is not None and bounds.low < bounds.high:
            seen["minimum"] += action.to == bounds.low
            seen["all-in"] += action.to == bounds.high
            seen["pot"] += action.to == pot_raise_to(state)
        theirs.apply_action(open_spiel_action(game, action))
        state = apply(state, action)
    values = payoffs(state, deal)
    assert theirs.returns() == list(values), (text, deal, values)
    seen["hands"] += 1
    seen["fractions"] += any(value != int(value) for value in values)
    if state.showdown:
        note_showdown(state.committed, state.folded, deal, seen)


def play(text: str, seed: int, decisions: float, weights=WEIGHTS) -> Counter:
    """Random hands of one definition until so many decisions are compared."""
    game, theirs = parse_game(text).game, open_spiel_game(text)
    stream, rng = CardStream(game, seed), random.Random(seed)
    seen: Counter = Counter()
    for hand in count():
        if seen["decisions"] >= decisions:
            return seen
        weight = weights[hand % len(weights)]

        def choose(state, bounds, weight=weight):
            return random_action(rng, state, bounds, weight)

        try:
            play_hand(game, theirs.new_initial_state(), stream.deal(), choose, seen)
        except AssertionError as error:
            raise AssertionError(f"hand {hand} of seed {seed} in\n{text}\n{error}") from error
    raise AssertionError("the hands never end")


# --- The definitions that come with Paratus -------------------------------------------------------------------------


def test_every_shipped_definition_and_200_000_decisions() -> None:
    folder = find_game("leduc").parent
    assert sorted(SHIPPED) == sorted(path.name.removesuffix(".game") for path in folder.glob("*.game"))
    assert sum(SHIPPED.values()) >= 200_000


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_definition(name, share):
    decisions = share * SHIPPED[name]
    seen = play(find_game(name).read_text(), SEED, decisions)
    game = load_game(name).game
    assert seen["decisions"] >= decisions
    assert min(seen["Fold"], seen["Call"], seen["Raise"]) > decisions // 20
    assert seen["showdowns"] > seen["hands"] // 10
    if game.no_limit:
        assert min(seen["minimum"], seen["pot"], seen["all-in"]) > decisions // 100
    assert seen["ties"] > 30 * share or game.num_suits == 1


# --- Definitions that nobody plays ----------------------------------------------------------------------------------


def _random_blinds(rng: random.Random, players: int) -> list[int]:
    big = rng.choice((1, 2, 2, 3, 10, 100))
    style = rng.randrange(4)
    if style == 0:
        blinds = [(big + 1) // 2, big] + [0] * (players - 2)
    elif style == 1:
        ante = rng.randint(1, big)
        blinds = [ante] * players
        blinds[rng.randrange(players)] += rng.choice((0, big))
    elif style == 2:
        blinds = [rng.randint(0, big) for _ in range(players)]
        blinds[rng.randrange(players)] = big
    else:
        blinds = [big * 2**i for i in range(min(players, 3))] + [0] * (players - 3)
    if rng.random() < 0.3:
        rng.shuffle(blinds)
    return blinds


def _random_stack(rng: random.Random, blind: int, big_blind: int) -> int:
    least = max(blind, 1)
    return rng.choice(
        (
            least,
            least + 1,
            rng.randint(least, 2 * big_blind + least),
            rng.randint(least, 10 * big_blind),
            rng.randint(least, 100 * big_blind),
            100 * big_blind,
            100 * big_blind,
        )
    )


def invent(rng: random.Random, no_limit: bool) -> Game:
    """A definition that our constructor accepts and open_spiel can express."""
    while True:
        players = rng.choice((2, 2, 3, 3, 4, 5, 6, rng.randint(7, 10))) if no_limit else rng.randint(2, 4)
        rounds = rng.randint(1, 4)
        blinds = _random_blinds(rng, players)
        big = max(blinds)
        try:
            return Game(
                no_limit=no_limit,
                num_players=players,
                num_rounds=rounds,
                blind=tuple(blinds),
                stack=tuple(_random_stack(rng, b, big) if no_limit else 2**31 - 1 for b in blinds),
                first_player=tuple(Position(rng.randrange(players)) for _ in range(rounds)),
                raise_size=() if no_limit else tuple(rng.randint(1, 3 * big) for _ in range(rounds)),
                max_raises=tuple(rng.choice((rng.randint(0, 4), 255)) for _ in range(rounds)),
                num_suits=rng.randint(1, 4),
                num_ranks=rng.choice((13, rng.randint(1, 13))),
                num_hole_cards=rng.randint(1, 3),
                num_board_cards=tuple(rng.choice((0, 1, 1, 2, 3)) for _ in range(rounds)),
            )
        except GameError:
            continue


@pytest.mark.parametrize("share", [pytest.param(0.25, id="a quarter"), SHARES[1]])
@pytest.mark.parametrize("betting", INVENTED)
def test_invented_definitions(betting, share):
    rng = random.Random(f"invented {betting}")
    seen: Counter = Counter()
    shapes: Counter = Counter()
    while seen["decisions"] < share * INVENTED[betting]:
        game = invent(rng, betting == "nolimit")
        seen += play(game_text(game), rng.getrandbits(32), DECISIONS_PER_INVENTED_GAME)
        shapes[f"{game.num_players} players"] += 1
        shapes["all-in by a blind"] += any(b == s for b, s in zip(game.blind, game.stack, strict=True))
        shapes["small deck"] += game.num_suits * game.num_ranks < 52
        shapes["unequal stacks"] += len(set(game.stack)) > 1
        shapes["everyone pays"] += min(game.blind) > 0
    assert min(seen["ties"], seen["dead money"]) > 100 * share
    assert shapes["small deck"] > 20 * share
    assert shapes["everyone pays"] > 20 * share
    if betting == "nolimit":
        assert all(shapes[f"{players} players"] > 10 * share for players in range(2, 7))
        assert shapes["all-in by a blind"] > 100 * share
        assert shapes["unequal stacks"] > 100 * share
        assert min(seen["minimum"], seen["pot"], seen["all-in"], seen["all-in for less than the minimum"]) > 500 * share
        assert min(seen["side pots"], seen["two side pots"]) > 500 * share
        assert min(seen["three-way ties"], seen["fractions"]) > 50 * share


# --- 64 actions on a street -----------------------------------------------------------------------------------------

_ROOMY = """GAMEDEF
{betting}
numPlayers = {players}
numRounds = 2
{chips}
blind = {blinds}
firstPlayer = 1 1
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 0 3
END GAMEDEF
"""


@pytest.mark.parametrize(
    ("betting", "players"),
    [*(("nolimit", players) for players in (2, 3, 4, 7, 10)), *(("limit", n) for n in (2, 3, 4))],
)
def test_the_cap_on_a_streets_actions(betting, players):
    """Players who hardly do anything but raise the minimum run out of actions, not of chips."""
    chips = f"stack = {' '.join(['2000'] * players)}" if betting == "nolimit" else "raiseSize = 3 5"
    blinds = " ".join(["1", "2"] + ["0"] * (players - 2))
    text = _ROOMY.format(betting=betting, players=players, chips=chips, blinds=blinds)
    game, theirs = parse_game(text).game, open_spiel_game(text)
    rng, stream = random.Random(players), CardStream(game, players)
    seen: Counter = Counter()

    def choose(state, bounds):
        if bounds is not None and rng.random() < 0.98:
            return Raise(bounds.low)
        return FOLD if can_fold(state) and rng.random() < 0.1 else CALL

    for _ in range(50):
        play_hand(game, theirs.new_initial_state(), stream.deal(), choose, seen)
    assert seen["at the action cap"] > 20
    assert seen["showdowns"] > 20
