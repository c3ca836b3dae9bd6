"""Suggestions of the declared property that an unknown name was probably meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headrace.config.property import Family, Property
from headrace.config.secret import printable_name

_TYPOS = 2
_LONG = 14
"""The least length of a name, in letters, in which two letters may be wrong."""
_SHORT = 6
"""The least length of a name, in letters, for suggestions of similar names."""


class Suggestions:
    """Searches former names, spellings without case and separators, and similar spellings."""

    def __init__(
        self, declared: Mapping[str, Property[Any]], families: Mapping[str, Family[Any]]
    ) -> None:
        self._former = {
            former: name
            for name, declaration in declared.items()
            for former in declaration.formerly
        }
        self._plain = {_plain(name): name for name in declared}
        self._names = [*declared, *(family.name for family in families.values())]

    def find(self, name: str) -> str | None:
        """Return a property name, or None if no name is similar."""
        lowered = printable_name(name).lower()
        if lowered in self._former:
            return self._former[lowered]
        if _plain(lowered) in self._plain:
            return self._plain[_plain(lowered)]
        former = difflib.get_close_matches(lowered, self._former, n=1, cutoff=0.9)
        if former:
            return self._former[former[0]]
        by_lowered = {known.lower(): known for known in self._names}
        near = difflib.get_close_matches(lowered, by_lowered, n=1, cutoff=0.8)
        if near:
            return by_lowered[near[0]]
        # "hostname" for database.hostname, "source.table.include.list" for table.include.list.
        endings = [
            known
            for known in self._names
            if known.lower().endswith("." + lowered) or lowered.endswith("." + known.lower())
        ]
        return max(endings, key=len) if endings else None

    def successor(self, name: str) -> str | None:
        """Return the property with this former (or mistaken) name, which must be equal but for
        case."""
        return self._former.get(printable_name(name).lower())

    def find_typo(self, name: str) -> str | None:
        """Return a property name as `find` does, but only with near certainty: another spelling of
        a name, a former name, one letter added, missing, wrong or swapped (two in a long name), or
        a name without its last word ("tables.include" for table.include.list). None for a name that
        Debezium, Kafka Connect or Spark themselves have."""
        lowered = name.lower()
        if is_elsewhere(lowered):
            return None
        if lowered in self._former:
            return self._former[lowered]
        plain = _plain(lowered)
        if plain in self._plain:
            return self._plain[plain]
        distances = {known: distance(plain, known, _TYPOS) for known in self._plain}
        near = min(distances, key=lambda known: distances[known], default="")
        most = _TYPOS if len(near) >= _LONG else 1
        if len(near) >= _SHORT and distances[near] <= most:
            return self._plain[near]
        return self._begun(lowered)

    def _begun(self, lowered: str) -> str | None:
        """Return the only property whose name has these words, two or more, and one more at its
        end. A word may be in the plural, or the singular, and a long one may have a typing
        error."""
        words = lowered.split(".")
        if len(words) < 2:
            return None
        longer = [known for known in self._plain.values() if _begins(known.split("."), words)]
        return longer[0] if len(longer) == 1 else None


@cache
def _elsewhere() -> frozenset[str]:
    """Return the names of Debezium's connectors and of Debezium Server from 2.3 to 3.6, and of
    Kafka Connect and its clients, from the constants of their jars; in lower case."""
    text = Path(__file__).with_name("names_elsewhere.txt").read_text()
    return frozenset(text.lower().split())


def is_elsewhere(name: str) -> bool:
    """Return whether another connector of Debezium, Debezium Server, Kafka Connect or Spark has a
    property of this name."""
    lowered = name.lower()
    return lowered.startswith("spark.") or lowered in _elsewhere()


def nearest(text: str, values: Iterable[str]) -> str | None:
    """Return the one of `values` that `text` probably was meant to be, in any case, or None."""
    by_lowered = {value.lower(): value for value in values}
    near = difflib.get_close_matches(text.lower(), by_lowered, n=1, cutoff=0.7)
    return by_lowered[near[0]] if near else None


def distance(word: str, other: str, most: int) -> int:
    """Return the number of letters that are added, missing, wrong, or swapped; `most` + 1 if there
    are more."""
    if abs(len(word) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        current = [i]
        for j, against in enumerate(other, 1):
            least = min(row[j] + 1, current[-1] + 1, row[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == against:
                least = min(least, before[j - 2] + 1)
            current.append(least)
        if min(current) > most:
            return most + 1
        before, row = row, current
    return min(row[-1], most + 1)


def _begins(name: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a name has these words and one more."""
    return len(name) == len(words) + 1 and all(map(_is_word, words, name))


def _is_word(written: str, meant: str) -> bool:
    if written == meant or f"{written}s" == meant or written == f"{meant}s":
        return True
    return len(meant) >= _SHORT and distance(written, meant, 1) <= 1


def _plain(name: str) -> str:
    return re.sub(r"[._\s-]", "", name).lower()
