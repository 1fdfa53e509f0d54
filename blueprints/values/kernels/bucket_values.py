"""One board of self-play: what both players win from every decision on, by the bucket they hold.

Plain walks in hand space: reaches of both players are pushed down a part of the tree and values brought back up, for
all hands that the board leaves, in order of strength. At each decision the values of a player are added up by bucket,
and so are the opponent's reaches that its hands can meet: one over the other is what the bucket is worth there.

A *part* of the tree is a list of nodes, parents before children, each with a *slot* of the working memory. Children
that are in no part of this walk (roots of the next street, seen from before the flop) have slots too: what is to be
known of them is put there by whoever walks them.

    reach, value  float32[slot, player, hand]
    meets         float32[slot, player, hand], the opponent's reaches that a hand can meet
    rows          uint8, the strategy: that of an edge begins at row_at[edge], a number for each bucket of the street
    won, met      float32, the sums: those of a player and node begin at at[player, node], a number for each bucket

Nothing aliases.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from solver.kernels.compiled import kernels_in

kernel = kernels_in(Path(__file__).parent)

_TOTAL = np.float32(255.0)
_ONE = np.float32(1.0)


class Betting(NamedTuple):
    """The tree and the strategy."""

    player: np.ndarray  # uint8[node]
    street: np.ndarray  # uint8[node]
    first: np.ndarray  # int32[node + 1]
    leads: np.ndarray  # int32[edge] a node, or ~leaf
    folder: np.ndarray  # int8[leaf]
    pays: np.ndarray  # int32[leaf]
    rows: np.ndarray
    row_at: np.ndarray  # int64[edge]
    at: np.ndarray  # int64[player, node]
    tremble: np.float32  # how often every action is taken as often as any other


class BoardHands(NamedTuple):
    """The hands of a board, in order of strength."""

    live: int
    groups: int
    group: np.ndarray  # int32[group + 1] where hands of equal strength begin
    cards: np.ndarray  # int32[hand, 2] card totals to add to
    minus: np.ndarray  # int32[hand, 2] card totals to subtract
    twin: np.ndarray  # int32[hand] the hand that both subtractions remove, or none: a number too large
    bucket: np.ndarray  # int32[street, hand]


@kernel
def _count(board, reach, totals):
    """Card totals of the reaches of all hands; returns their sum."""
    totals[:] = 0
    total = np.float32(0)
    for hand in range(board.live):
        total += reach[hand]
        totals[board.cards[hand, 0]] += reach[hand]
        totals[board.cards[hand, 1]] += reach[hand]
    return total


@kernel
def _met(board, reach, totals, out):
    """The reaches of the opponent's hands that each hand can meet."""
    total = _count(board, reach, totals)
    for hand in range(board.live):
        twin = board.twin[hand]
        both = reach[twin] if twin < board.live else np.float32(0)
        out[hand] = total - totals[board.minus[hand, 0]] - totals[board.minus[hand, 1]] + both


@kernel
def _won(board, reach, totals, out):
    """The same for what is weaker, less what is stronger: weaker + (weaker or equal) - all."""
    totals[:] = 0
    total = np.float32(0)
    for number in range(board.groups):
        begin, end = board.group[number], board.group[number + 1]
        for hand in range(begin, end):
            out[hand] = total - totals[board.minus[hand, 0]] - totals[board.minus[hand, 1]]
        for hand in range(begin, end):
            total += reach[hand]
            totals[board.cards[hand, 0]] += reach[hand]
            totals[board.cards[hand, 1]] += reach[hand]
        for hand in range(begin, end):
            out[hand] += total - totals[board.minus[hand, 0]] - totals[board.minus[hand, 1]]
    for hand in range(board.live):
        out[hand] -= total - totals[board.minus[hand, 0]] - totals[board.minus[hand, 1]]


@kernel
def _shares(betting, board, node, edge, out):
    """How often each hand takes an edge."""
    base = betting.row_at[edge]
    bucket = board.bucket[betting.street[node]]
    actions = betting.first[node + 1] - betting.first[node]
    kept, even = (_ONE - betting.tremble) / _TOTAL, betting.tremble / np.float32(actions)
    for hand in range(board.live):
        out[hand] = np.float32(betting.rows[base + bucket[hand]]) * kept + even


@kernel
def meet(board, reach, meets, totals):
    """What is met at a node, both players' reaches given."""
    for player in range(2):
        _met(board, reach[1 - player], totals, meets[player])


@kernel
def down(betting, board, nodes, slot, reach, meets, shares, totals):
    """Reaches of all children of a part, and what they meet: for whoever acted that is what it was."""
    for node in nodes:
        mine, player = reach[slot[node]], betting.player[node]
        for edge in range(betting.first[node], betting.first[node + 1]):
            child = betting.leads[edge]
            if child >= 0:
                _shares(betting, board, node, edge, shares)
                theirs = reach[slot[child]]
                for hand in range(board.live):
                    theirs[player, hand] = mine[player, hand] * shares[hand]
                    theirs[1 - player, hand] = mine[1 - player, hand]
                    meets[slot[child], player, hand] = meets[slot[node], player, hand]
                _met(board, theirs[player], totals, meets[slot[child], 1 - player])


@kernel
def _leaf(betting, board, leaf, player, reach, met, taken, totals, values):
    """Values at an end that `player` chose with reaches `taken`; `reach` are the opponent's, of which `met` are met."""
    pays, folder = np.float32(betting.pays[leaf]), betting.folder[leaf]
    other = 1 - player
    if folder >= 0:
        values[player] = met
        _met(board, taken, totals, values[other])
    else:
        _won(board, reach, totals, values[player])
        _won(board, taken, totals, values[other])
    for number in range(2):
        factor = -pays if folder == number else pays
        for hand in range(board.live):
            values[number, hand] *= factor


@kernel
def up(betting, board, nodes, slot, reach, meets, value, shares, taken, totals, won, met):
    """Values of a part's nodes, and what is learnt there; those of children in no part are in `value` already."""
    end = np.zeros((2, len(shares)), np.float32)
    for number in range(len(nodes) - 1, -1, -1):
        node = nodes[number]
        player = betting.player[node]
        other = 1 - player
        mine, here, known = value[slot[node]], reach[slot[node]], meets[slot[node]]
        mine[:] = 0
        for edge in range(betting.first[node], betting.first[node + 1]):
            _shares(betting, board, node, edge, shares)
            child = betting.leads[edge]
            if child >= 0:
                after = value[slot[child]]
            else:
                for hand in range(board.live):
                    taken[hand] = here[player, hand] * shares[hand]
                _leaf(betting, board, ~child, player, here[other], known[player], taken, totals, end)
                after = end
            for hand in range(board.live):
                mine[player, hand] += after[player, hand] * shares[hand]
                mine[other, hand] += after[other, hand]
        bucket = board.bucket[betting.street[node]]
        for each in range(2):
            base = betting.at[each, node]
            for hand in range(board.live):
                won[base + bucket[hand]] += mine[each, hand]
                met[base + bucket[hand]] += known[each, hand]


@kernel
def against(betting, begin, end, player, theirs, buckets, signs, shares, values):
    """One street that ends the hand, against one hand: what each hand of `player` wins at each node from `begin` on.

    Nodes `begin` to `end` are those of one root. buckets uint16[hand], `theirs` that of the opponent's hand; signs
    float32[hand], 1 where a hand beats it, -1 where it loses; shares float32[hand] is working memory; values
    float32[node, hand], of those alone to which that hand can come. Nobody trembles.
    """
    comes = _where_it_comes(betting, begin, end, player, theirs)
    for node in range(end - 1, begin - 1, -1):
        if not comes[node - begin]:
            continue
        here = values[node - begin]
        here[:] = 0
        acts = betting.player[node] == player
        for edge in range(betting.first[node], betting.first[node + 1]):
            base, child = betting.row_at[edge], betting.leads[edge]
            share = np.float32(betting.rows[base + theirs]) / _TOTAL
            if not acts and share == 0:
                continue
            if child >= 0:
                after, paid = values[child - begin], _ONE
            else:
                after, paid = signs, np.float32(betting.pays[~child])
                if betting.folder[~child] == player:
                    paid = -paid
            fold = child < 0 and betting.folder[~child] >= 0
            if acts:
                _gather(betting.rows, base, buckets, paid / _TOTAL, shares)
                if fold:
                    here += shares
                else:
                    here += shares * after
            elif fold:
                here += share * paid
            else:
                here += (share * paid) * after


@kernel
def _where_it_comes(betting, begin, end, player, theirs):
    """bool[node] the first node, and what follows it unless the opponent's hand would never have done that."""
    comes = np.zeros(end - begin, np.bool_)
    comes[0] = True
    for node in range(begin, end):
        if comes[node - begin]:
            acts = betting.player[node] == player
            for edge in range(betting.first[node], betting.first[node + 1]):
                child = betting.leads[edge]
                if child >= 0 and (acts or betting.rows[betting.row_at[edge] + theirs]):
                    comes[child - begin] = True
    return comes


@kernel
def _gather(rows, base, buckets, factor, shares):
    """[hand] the numbers of a row times a factor."""
    for hand in range(len(buckets)):
        shares[hand] = np.float32(rows[base + buckets[hand]]) * factor
