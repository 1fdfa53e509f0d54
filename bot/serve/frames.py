"""What the server and its workers say to each other: frames of JSON and bytes over a pair of sockets.

    length of the JSON, length of the bytes (4 + 4 bytes, big-endian), JSON object, bytes

Nothing is pickled. Both ends are ours, so `multiprocessing`'s pipes would be as safe; but they block, their start
imports the main module again, and a decision is a few short texts and rows of 16-bit weights anyway. What is sent can
be read by eye, and a worker could as well sit on another machine.

A decision carries all that it depends on: the spot as text, our earlier policies of the hand, and the key of its draws.
So any worker can make it, and one that has just been started solves again what its predecessor had solved (as
strategies do after an interruption). Searches know the policies that they made themselves by the keys in their details.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from machine.errors import ParatusError, quote
from protocol.cards import cards_text, parse_cards
from protocol.game import Game, Position
from protocol.state import start
from protocol.wire import read_betting
from strategies.draws import Draws
from strategies.policy import MAX_COLUMNS, Origin, Policy, parse_support, support_text
from strategies.strategy import Decided, Spot

HEAD: Final = struct.Struct(">II")
MAX_BYTES: Final = 1 << 26
_WEIGHT: Final = "<u2"

Data = dict[str, Any]


class FrameError(ParatusError):
    """A frame that cannot be read. Only a fault of ours, or damage, can make one."""


def frame(data: Data, blob: bytes = b"") -> bytes:
    """A message as it is sent."""
    text = json.dumps(data).encode()
    return HEAD.pack(len(text), len(blob)) + text + blob


def sizes(head: bytes) -> tuple[int, int]:
    """How many bytes of JSON and of the rest follow a head."""
    text, blob = HEAD.unpack(head)
    if text + blob > MAX_BYTES:
        raise FrameError(f"a frame of {text + blob} bytes: expected at most {MAX_BYTES}")
    return text, blob


def read(text: bytes) -> Data:
    """The JSON of a message."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise FrameError(f"{quote(text)}: expected JSON") from None
    if not isinstance(data, dict):
        raise FrameError(f"{quote(text)}: expected a JSON object")
    return data


# Policies


def policy_data(policy: Policy) -> tuple[Data, bytes]:
    """A policy as plain data; its weights apart."""
    origin = policy.origin
    data = {
        "support": support_text(policy.support),
        "columns": policy.weights.shape[1],
        "origin": [origin.route, origin.reason, origin.iterations, origin.model, origin.details],
    }
    return data, policy.weights.astype(_WEIGHT).tobytes()


def policy_bytes(data: Data) -> int:
    """How many bytes the weights of a policy take."""
    return 2 * len(parse_support(data["support"])) * int(data["columns"])


def read_policy(data: Data, blob: bytes) -> Policy:
    """A policy back from plain data, checked as any policy is."""
    support, columns = parse_support(data["support"]), int(data["columns"])
    if not 0 < columns <= MAX_COLUMNS or len(blob) != 2 * len(support) * columns:
        raise FrameError(f"weights of {len(blob)} bytes: expected {len(support)} actions of {columns} hands")
    weights = np.frombuffer(blob, _WEIGHT).astype(np.uint16).reshape(len(support), columns)
    return Policy(support, weights, Origin(*data["origin"]))


# Decisions


def spot_data(spot: Spot, draws: Draws) -> tuple[Data, bytes]:
    """A decision to make, as plain data."""
    past = [policy_data(decided.policy) for decided in spot.past]
    data = {
        "hand": spot.hand,
        "position": spot.position,
        "betting": spot.state.betting,
        "board": cards_text(spot.board),
        "past": [
            {"betting": decided.state.betting, **policy} for decided, (policy, _) in zip(spot.past, past, strict=True)
        ],
        "draws": list(draws.key),
    }
    return data, b"".join([weights for _, weights in past])


def read_spot(game: Game, data: Data, blob: bytes) -> tuple[Spot, Draws]:
    """A decision to make, back from plain data."""
    begun, at = start(game), 0
    past: list[Decided] = []
    for each in data["past"]:
        end = at + policy_bytes(each)
        policy = read_policy(each, blob[at:end])
        past.append(Decided(read_betting(begun, each["betting"]), policy))
        at = end
    state, board = read_betting(begun, data["betting"]), parse_cards(data["board"])
    return Spot(int(data["hand"]), Position(data["position"]), state, board, tuple(past)), _draws(data["draws"])


def _draws(key: Sequence[Any]) -> Draws:
    seed, match, hand, decision, purpose = key
    return Draws(int(seed), str(match), int(hand), int(decision), str(purpose))
