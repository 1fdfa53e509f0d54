"""What open_spiel calls our games and information sets, so that one policy can be given to both sides.

An information set here is the player who acts, its hand, the board and the betting since the root of the subgame.
Boards are sets because `universal_poker` names them so: it forgets the order of streets, so a game in which two streets
deal cards has imperfect recall there (harmless where neither player's policy looks at the cards).

open_spiel lists legal actions in ascending order: fold, call, raises from small to large, as our menus do (in its Kuhn
poker: pass, bet). So policies match by place, and that sizes agree shows in the betting of the information sets below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyspiel
from solver_tables import average, decisions, matched, moved

from protocol.cards import Card, make_card, parse_cards
from protocol.game import Game
from protocol.hands import permute_cards
from solver.subgame import Subgame
from solver.subgame_solver import Solver

InfoSet = tuple[int, frozenset[Card], frozenset[Card], str]
"""Player, hand, board, betting."""
Parse = Callable[[str], InfoSet]
Policy = dict[str, list[tuple[int, float]]]
"""[information state] the probability of each legal action."""

_KUHN = re.compile(r"(\d)([pb]*)")
_LEDUC = re.compile(
    r"\[Observer: (\d)\]\[Private: (\d)\]\[Round (\d)\].*?"
    r"(?:\[Public: (\d)\])?\[Round1: ([12 ]*)\]\[Round2: ([12 ]*)\]"
)
_UNIVERSAL = re.compile(
    r"\[Round \d\]\[Player: (-?\d)\]\[Pot: \d+\]\[Money: \d+ \d+\]"
    r"\[Private: (\w*)\]\[Public: (\w*)\]\[Sequences: ([|cfr\d]*)\]"
)


def kuhn_names(text: str) -> InfoSet:
    """`2pb`: the highest card of three, after a check and a bet."""
    found = _match(_KUHN, text)
    betting = found[2].replace("p", "c").replace("b", "r")
    return len(betting) % 2, frozenset([make_card(10 + int(found[1]), 3)]), frozenset(), betting


def leduc_names(text: str) -> InfoSet:
    """Cards 0 to 5 are two of each rank; 1 is a call and 2 a raise."""
    found = _match(_LEDUC, text)
    first, second = [streets.replace(" ", "").replace("1", "c").replace("2", "r") for streets in found.group(5, 6)]
    board = frozenset([_leduc_card(found[4])] if found[4] else [])
    betting = first + ("/" + second if found[3] == "2" else "")
    return int(found[1]), frozenset([_leduc_card(found[2])]), board, betting


def universal_names(game: Game, root_betting: str = "") -> Parse:
    """Names in `universal_poker`; its small decks keep the bottom ranks and first suits, ours the top and last."""

    def parse(text: str) -> InfoSet:
        found = _match(_UNIVERSAL, text)
        betting = found[4].replace("|", "/")
        assert betting.startswith(root_betting)
        return int(found[1]), _our_cards(game, found[2]), _our_cards(game, found[3]), betting[len(root_betting) :]

    return parse


def universal_poker(game: Game, abstraction: str = "fcpa") -> pyspiel.Game:
    """Our game as open_spiel's: `fcpa` offers pot-sized raises and all-in, `fullgame` every raise."""
    parameters: dict[str, str | int] = {
        "betting": "nolimit" if game.no_limit else "limit",
        "bettingAbstraction": abstraction,
        "numPlayers": game.num_players,
        "numRounds": game.num_rounds,
        "blind": _words(game.blind),
        "firstPlayer": _words([position + 1 for position in game.first_player]),
        "maxRaises": _words(game.max_raises),
        "numSuits": game.num_suits,
        "numRanks": game.num_ranks,
        "numHoleCards": game.num_hole_cards,
        "numBoardCards": _words(game.num_board_cards),
    }
    parameters |= {"stack": _words(game.stack)} if game.no_limit else {"raiseSize": _words(game.raise_size)}
    return pyspiel.load_game("universal_poker", parameters)


def chance_outcome(game: Game, card: Card) -> int:
    """The number of a card in `universal_poker`, which counts its deck by rank, then suit."""
    rank, suit = divmod(card, 4)
    return (rank - (13 - game.num_ranks)) * game.num_suits + suit - (4 - game.num_suits)


def average_policy(solver: Solver, subgame: Subgame) -> dict[InfoSet, np.ndarray]:
    """What a solver's averages play, on every board, those included that another one is solved for."""
    policy = {}
    for decision in decisions(subgame):
        probabilities = matched(average(solver, decision))
        betting = decision.betting.removeprefix(subgame.root.betting)
        hands = subgame.hands[decision.player]
        for cards, suits in decision.images:
            board = frozenset(cards)
            assert frozenset(permute_cards(cards, suits)) == frozenset(decision.board)
            for hand, column in zip(hands, moved(hands, suits), strict=True):
                if board.isdisjoint(hand):
                    policy[decision.player, frozenset(hand), board, betting] = probabilities[:, column]
    return policy


def their_policy(
    legal: Mapping[str, Sequence[tuple[int, float]]], ours: Mapping[InfoSet, np.ndarray], parse: Parse
) -> Policy:
    """Our policy in open_spiel's words; `legal` is any policy of its own that lists all its information sets."""
    assert len(legal) == len(ours), f"open_spiel has {len(legal)} information sets, we have {len(ours)}"
    policy = {}
    for text, actions in legal.items():
        probabilities = ours[parse(text)].tolist()
        policy[text] = [(action, p) for (action, _), p in zip(actions, probabilities, strict=True)]
    return policy


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    assert found is not None, f"open_spiel's information state has another form: {text}"
    return found


def _leduc_card(number: str) -> Card:
    rank, suit = divmod(int(number), 2)
    return make_card(10 + rank, 2 + suit)


def _our_cards(game: Game, text: str) -> frozenset[Card]:
    shift = 4 * (13 - game.num_ranks) + 4 - game.num_suits
    return frozenset([Card(card + shift) for card in parse_cards(text)])


def _words(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
