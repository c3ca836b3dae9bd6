"""Tables that a signal names: regular expressions over `schema.table`, any case, as Debezium's.

They run on the thread that polls, and come from any user who may write a signal. Python's engine
takes exponential time for some, and nothing can interrupt it; RE2, which is part of PyArrow, takes
time in proportion to the name. It lacks look-around and back references; an expression with these
is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headrace.config.regex import translate_java_regex

_LONGEST = 10_000
_PLAIN = re.compile(r"\w+\.\w+", re.ASCII)


def check_expression(expression: str) -> None:
    """Check a regular expression. Raises ValueError with a sentence when it cannot be used."""
    matching(expression, [""])  # nothing is compiled for no names


def matching(expression: str, names: Sequence[str], qualifier: str = "") -> list[str]:
    """Return the `names` that `expression` matches as a whole, in their order; `qualifier` (a
    database and a dot) may precede each.

    Raises ValueError with a sentence that names the expression.
    """
    matched = _matching(expression, names)
    if qualifier:
        longer = set(_matching(expression, [qualifier + name for name in names]))
        matched = [name for name in names if name in matched or qualifier + name in longer]
    return matched


def _matching(expression: str, names: Sequence[str]) -> list[str]:
    if _PLAIN.fullmatch(expression):
        lowered = expression.lower()
        return [name for name in names if name.lower() == lowered]
    if len(expression) > _LONGEST:
        raise ValueError(
            f"{expression[:50]!r}… is not a regular expression of at most {_LONGEST} characters"
        )
    import pyarrow as pa  # 0.1 s in each of Spark's planning processes, which apply no signals
    import pyarrow.compute as pc

    try:
        pattern = rf"\A(?:{translate_java_regex(expression)})\z"
        mask = pc.match_substring_regex(pa.array(names, pa.string()), pattern, ignore_case=True)
    except (ValueError, OverflowError) as error:
        problem = str(error).removeprefix("Invalid regular expression: ")
        raise ValueError(f"{expression!r} is not a regular expression ({problem})") from None
    return [name for name, matches in zip(names, mask.to_pylist(), strict=True) if matches]


def named(expression: str, names: Sequence[str], qualifier: str = "") -> list[str]:
    """Return names as `matching`, or, if the expression matches none, those that are equal to it
    without quotes."""
    plain = unquoted(expression)
    return matching(expression, names, qualifier) or [
        name for name in names if plain in (name, qualifier + name)
    ]


def unquoted(name: str) -> str:
    """Return a name without quotes: `"a"."b.c"` as `a.b.c`."""
    return re.sub(r'"((?:[^"]|"")*)"', lambda part: part[1].replace('""', '"'), name)
