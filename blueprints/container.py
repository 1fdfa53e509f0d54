"""A file of plain arrays behind a header: mapped into memory, never unpickled, refused if anything is not as it says.

    0     8 bytes   `MAGIC`
    8     uint32    version of this layout
    12    uint32    bytes of the header
    16    16 bytes  blake2b of the header
    32    the header: JSON, keys sorted, no blanks; `fields` are the owner's, `arrays` the directory
    …     arrays, each from the next multiple of 64 bytes on, in the order of the directory; zeros between

Numbers are little-endian. The directory has name, dtype, shape, offset and blake2b of every array. So the hash of the
header names the whole content: it is the file's digest. Opening checks all but the content of the arrays, which the
owner checks one by one, when it needs them: a file of 40 MB is open in a millisecond.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from machine.errors import quote
from machine.files import whole_file
from machine.refusals import problem_words
from protocol.errors import BlueprintError

Array = NDArray[Any]

MAGIC: Final = b"paratus\0"
VERSION: Final = 1
_START: Final = struct.Struct("<8sII16s")
_ALIGNMENT: Final = 64
_HASH_BYTES: Final = 16
_MAX_HEADER_BYTES: Final = 1 << 20
_MAX_LENGTH: Final = 1 << 40


class ArrayRecord(BaseModel):
    """An entry of the directory."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(pattern=r"^[a-z0-9_]{1,60}$")
    dtype: Literal["|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8"]
    shape: Annotated[tuple[Annotated[int, Field(ge=0, le=_MAX_LENGTH)], ...], Field(max_length=4, strict=False)]
    offset: int = Field(ge=0, le=_MAX_LENGTH)
    hash: str = Field(pattern=r"^[0-9a-f]{32}$")

    @property
    def size(self) -> int:
        """In bytes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    fields: dict[str, Any]
    arrays: Annotated[tuple[ArrayRecord, ...], Field(max_length=1000, strict=False)]


class Container:
    """An open file. Arrays are views of it, read-only."""

    path: Path
    fields: dict[str, Any]
    digest: str
    records: dict[str, ArrayRecord]

    def __init__(self, path: Path) -> None:
        """Open; raises `BlueprintError`, which names the file and what differs."""
        self.path = path
        try:
            with path.open("rb") as file:
                start, size = file.read(_START.size), os.fstat(file.fileno()).st_size
                length = self._check_start(start)
                text = file.read(length)
                # The same file, even if another has taken its name by now.
                self._file = np.asarray(np.memmap(file, np.uint8, mode="r"))
        except OSError as error:
            raise self.wrong(f"{error.strerror}: expected a blueprint file") from None
        header = self._read_header(start, text)
        self.fields = header.fields
        self.digest = _START.unpack(start)[3].hex()
        self.records = {record.name: record for record in header.arrays}
        end = self._check_directory(header.arrays, _START.size + length)
        if size != end:
            cut = "cut short, " if size < end else ""
            raise self.wrong(f"{cut}{size:,} bytes: expected {end:,}")
        self._begin = _START.size + length

    def __getitem__(self, name: str) -> Array:
        """An array as it is in the file; see `checked`."""
        record = self.records[name]
        raw = self._file[record.offset : record.offset + record.size]
        return raw.view(record.dtype).reshape(record.shape)

    def checked(self, name: str) -> Array:
        """An array, once its content has been compared with its hash."""
        array = self[name]
        self.check_same(f"hash of {name}", _hash(array), self.records[name].hash)
        return array

    def verify(self) -> None:
        """Compare every array with its hash; what lies between them must be zero."""
        at = self._begin
        for record in self.records.values():
            if self._file[at : record.offset].any():
                raise self.wrong(f"bytes before {record.name} are not zero")
            at = record.offset + record.size
            self.checked(record.name)

    def wrong(self, what: str) -> BlueprintError:
        """An error that names the file."""
        return BlueprintError(f"{self.path}: {what}")

    def check_same(self, what: str, found: object, expected: object) -> None:
        """Refuse the file if these differ."""
        if found != expected:
            raise self.wrong(f"{what} is {found}: expected {expected}")

    def _check_start(self, start: bytes) -> int:
        if start.startswith(MAGIC) and len(start) < _START.size:
            raise self.wrong(f"cut short, {len(start)} bytes: expected {_START.size} before the header")
        if not start.startswith(MAGIC):
            raise self.wrong(f"begins with {quote(start[: len(MAGIC)])}: expected a blueprint file, {quote(MAGIC)}")
        _, version, length, _ = _START.unpack(start)
        if version != VERSION:
            raise self.wrong(f"version {version}: this program reads version {VERSION}")
        if length > _MAX_HEADER_BYTES:
            raise self.wrong(f"a header of {length:,} bytes: expected at most {_MAX_HEADER_BYTES:,}")
        return int(length)

    def _read_header(self, start: bytes, text: bytes) -> _Header:
        _, _, length, expected = _START.unpack(start)
        if len(text) < length:
            raise self.wrong(f"cut short, {len(text):,} bytes of a header: expected {length:,}")
        self.check_same("hash of the header", _hash(text), expected.hex())
        try:
            return _Header.model_validate(json.loads(text))
        except (ValueError, RecursionError) as error:
            why = problem_words(error, _Header) if isinstance(error, ValidationError) else quote(str(error))
            raise self.wrong(f"the header cannot be read: {why}") from None

    def _check_directory(self, records: tuple[ArrayRecord, ...], at: int) -> int:
        """Arrays lie where they must; returns where the last ends."""
        self.check_same("number of arrays of different names", len(self.records), len(records))
        for record in records:
            self.check_same(f"offset of {record.name}", record.offset, _aligned(at))
            at = record.offset + record.size
        return at


def write_container(path: Path, fields: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Write a file, all of it or nothing; returns its digest."""
    little = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    records = [
        ArrayRecord.model_validate(
            {"name": name, "dtype": array.dtype.str, "shape": array.shape, "offset": 0, "hash": _hash(array)}
        )
        for name, array in little.items()
    ]
    # Offsets begin after the header, whose length depends on them: until it no longer changes.
    header, length = b"", -1
    while length != len(header):
        length = len(header)
        records = _placed(records, _START.size + length)
        header = _canonical({"fields": dict(fields), "arrays": [record.model_dump() for record in records]})
    if len(header) > _MAX_HEADER_BYTES:
        raise BlueprintError(f"{path}: a header of {len(header):,} bytes: expected at most {_MAX_HEADER_BYTES:,}")
    digest = _hash(header)
    with whole_file(path) as file:
        file.write(_START.pack(MAGIC, VERSION, len(header), bytes.fromhex(digest)) + header)
        for record, array in zip(records, little.values(), strict=True):
            file.write(bytes(record.offset - file.tell()))
            file.write(array.reshape(-1).view(np.uint8).data)
    return digest


def _placed(records: list[ArrayRecord], at: int) -> list[ArrayRecord]:
    """With offsets, one after another."""
    placed = []
    for record in records:
        placed.append(record.model_copy(update={"offset": _aligned(at)}))
        at = placed[-1].offset + record.size
    return placed


def _canonical(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _aligned(at: int) -> int:
    return -(-at // _ALIGNMENT) * _ALIGNMENT


def _hash(data: bytes | Array) -> str:
    raw = data if isinstance(data, bytes) else np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
    return blake2b(raw, digest_size=_HASH_BYTES).hexdigest()
