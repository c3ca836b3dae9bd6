"""Field rules in plain Python, after Debezium's FieldSelector: the model of the compiled pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from headrace.documents.fields import PathRule

Members = dict[str, Any]


class Taken(Exception):
    """A field is renamed onto another one."""


class PlainRules:
    """Applies rules to dicts in place.

    Debezium walks one prefix of a path only (an array that is updated at two places keeps a field
    at the second), and leaves the names of fields inside of an excluded one in removedFields;
    `as_debezium` does so as well.
    """

    def __init__(self, rules: Sequence[PathRule], *, as_debezium: bool) -> None:
        self.rules = rules
        self.as_debezium = as_debezium

    def document(self, members: Members) -> Members:
        for rule in self.rules:
            _modify(rule, members, 0)
        return members

    def updated_fields(self, members: Members) -> Members:
        for rule in self.rules:
            self._modify_dotted(rule, members)
        return members

    def name(self, name: str) -> str | None:
        """A removed field's name; None: it is dropped."""
        return self._name(name, drops_above=True)

    def array(self, name: str) -> str | None:
        """A shortened array's name; None: it is dropped. One around an excluded field is not."""
        return self._name(name, drops_above=False)

    def _name(self, name: str, *, drops_above: bool) -> str | None:
        for rule in self.rules:
            if not drops_above and name == ".".join(rule.path):
                return None if rule.name is None else _moved(rule)
            nodes = _without_indexes(name.split("."))
            is_below = nodes[: len(rule.path)] == list(rule.path)
            is_above = not is_below and nodes == list(rule.path[: len(nodes)])
            is_equal = nodes == list(rule.path)
            if not (is_above or is_equal or (is_below and not self.as_debezium)):
                continue
            if rule.name is not None:
                return _renamed(rule, name)
            if drops_above or not is_above:
                return None
        return name

    def _modify_dotted(self, rule: PathRule, members: Members) -> None:
        path = list(rule.path)
        whole = ".".join(path)
        if whole in members:
            if rule.name is None:
                del members[whole]
                return
            if _moved(rule) in members:
                raise Taken
            members[_moved(rule)] = members.pop(whole)
            return
        moved = []
        for name, value in list(members.items()):
            nodes = _without_indexes(name.split("."))
            if len(nodes) >= len(path):
                if nodes[: len(path)] == path:
                    del members[name]
                    moved.append((name, value))
            elif nodes == path[: len(nodes)]:
                _modify_value(rule, value, len(nodes))
                if self.as_debezium:
                    break
        if rule.name is not None:
            for name, value in moved:
                _put(members, _renamed(rule, name), value)


def _moved(rule: PathRule) -> str:
    """The rule's path with its new name."""
    return ".".join([*rule.path[:-1], rule.name or ""])


def _put(members: Members, name: str, value: object) -> None:
    if name in members:
        raise Taken
    members[name] = value


def _modify(rule: PathRule, members: Members, node: int) -> None:
    name = rule.path[node]
    if name not in members:
        return
    if node < len(rule.path) - 1:
        _modify_value(rule, members[name], node + 1)
    elif rule.name is None:
        del members[name]
    elif rule.name in members:
        raise Taken
    else:
        members[rule.name] = members.pop(name)


def _modify_value(rule: PathRule, value: object, node: int) -> None:
    inner = value if isinstance(value, list) else [value]
    for item in inner:
        if isinstance(item, dict):
            _modify(rule, item, node)


def _without_indexes(parts: list[str]) -> list[str]:
    if len(parts) == 1:
        return parts
    indexes = [part.isdecimal() and part.isascii() for part in parts]
    if any(first and second for first, second in pairwise(indexes)):
        return parts
    return [part for part, is_index in zip(parts, indexes, strict=True) if not is_index]


def _renamed(rule: PathRule, name: str) -> str:
    count, parts = 0, []
    for part in name.split("."):
        if part.isdecimal() and part.isascii():
            parts.append(part)
            continue
        is_last = count == len(rule.path) - 1
        parts.append(rule.name if is_last and rule.name is not None else part)
        count += 1
    return ".".join(parts)
