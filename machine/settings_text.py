"""A documented settings file, written from the models that read it: so each key is explained once, where it is defined.

A section's comment is what its model says of itself after the first paragraph, a key's comment the docstring below the
field. Models within a section become tables of their own, after its keys; a key whose default is None stands commented
out, with the first of its examples.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from machine.toml import value_text

_WIDTH: Final = 120


def documented_settings(model: type[BaseModel], head: str) -> str:
    """The file with all defaults of a model whose fields are sections; `head` says what the file is."""
    parts = [_comment(head)]
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            parts += _section(name, default, _said(type(default)))
        else:  # keys that somebody else declares
            parts.append("\n".join([f"[{name}]", _comment(_docstrings(model).get(name, ""))]))
    return "\n\n".join(parts) + "\n"


def _section(path: str, section: BaseModel, about: str) -> Iterator[str]:
    """A table, and those within it."""
    tables: list[str] = []
    docs, lines = _docstrings(type(section)), [f"[{path}]"]
    if about:
        lines += [_comment(about), ""]
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            tables += _section(f"{path}.{name}", value, docs.get(name, ""))
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            tables += _array(f"{path}.{name}", value, docs.get(name, ""))
        else:
            lines += [*([_comment(docs[name])] if name in docs else []), _key(name, value, field)]
    yield "\n".join(lines)
    yield from tables


def _array(path: str, entries: tuple[BaseModel, ...], about: str) -> Iterator[str]:
    """Tables of one kind, of which the first is explained."""
    for number, entry in enumerate(entries):
        docs = _docstrings(type(entry)) if number == 0 else {}
        lines = [f"[[{path}]]", *([_comment(about), ""] if number == 0 else [_comment("As above.")])]
        for name, field in type(entry).model_fields.items():
            lines += [*([_comment(docs[name])] if name in docs else []), _key(name, getattr(entry, name), field)]
        yield "\n".join(lines)


def _key(name: str, value: Any, field: FieldInfo) -> str:
    if value is None:
        assert field.examples, f"{name}: a default of None is shown by an example"
        return f"# {name} = {value_text(field.examples[0])}"
    return f"{name} = {value_text(value)}"


def _comment(text: str) -> str:
    return "\n".join(textwrap.wrap(" ".join(text.split()), _WIDTH, initial_indent="# ", subsequent_indent="# "))


def _said(kind: type[BaseModel]) -> str:
    """What a model says of itself, after its first paragraph, which is for readers of the code."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return text.partition("\n\n")[2]


def _docstrings(kind: type[BaseModel]) -> dict[str, str]:
    """Of fields, in the class and those that it extends."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            found |= _own_docstrings(each)
    return found


def _own_docstrings(kind: type) -> dict[str, str]:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found, last = {}, ""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            found[last], last = str(node.value.value), ""
        else:
            last = ""
    return found
