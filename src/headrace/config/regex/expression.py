"""Regular expressions that match in limited time.

Python's engine backtracks, and takes exponential time for some expressions (`(a+)+b`); nothing can
interrupt it. RE2, which is part of PyArrow, takes time in proportion to the text. Columns of texts
are matched by RE2. A single name is matched by Python, which is faster then, unless the expression
has many choices or a choice in a loop, or the name is long. An expression without a form in RE2 is
matched by Python, so it is refused if it could take long: for a name, if its structure (`effort`)
has too many steps for the longest name; for texts of rows, which have any length, unless the steps
are in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.config.regex.effort import LONGEST_NAME, effort
from headrace.config.regex.linear import NoLinearForm, is_ambiguous, linear_form, parsed
from headrace.config.regex.translation import translate_java_regex

if TYPE_CHECKING:
    import pyarrow as pa


_MAX_GROUPS = 9
"""The most groups that a replacement in RE2 can refer to."""
_LACKED = (
    "look-around, a back reference, a possessive quantifier or a $ before something else; leave "
    "that out, or begin with ^ and repeat one part only"
)


class Expression:
    """A regular expression by the rules of Java."""

    def __init__(self, text: str, flags: int) -> None:
        """`text` is in Python's syntax.

        Raises ValueError, re.error, OverflowError or RecursionError for an invalid expression.
        """
        self._pattern = re.compile(text, flags)
        self._tree = parsed(text, flags)
        steps = effort(self._tree, whole=True)
        self._is_ambiguous = is_ambiguous(self._tree) or not steps.suits_names()
        if not steps.suits_names() and self._linear(whole=True) is None:
            raise ValueError(f"it could take too long: it repeats a choice, and has {_LACKED}")

    def require_linear(self, *, whole: bool) -> None:
        """Require time in proportion to a text of any length, to match as a whole or to search.

        Raises ValueError.
        """
        if self._linear(whole=whole) is None and not effort(self._tree, whole=whole).is_linear():
            raise ValueError(
                "it could take too long for a long text of a row: it repeats more than one part, "
                f"or one part at any place of the text, and has {_LACKED}"
            )

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self._pattern.groups

    @property
    def groupindex(self) -> dict[str, int]:
        """The numbers of named groups."""
        return dict(self._pattern.groupindex)

    def fullmatch(self, text: str) -> bool:
        """Return whether the expression matches all of a text."""
        if self._is_slow(text) and self._linear(whole=True) is not None:
            return bool(self.matches([text], whole=True)[0].as_py())
        return self._pattern.fullmatch(text) is not None

    def matches(self, texts: pa.Array | Sequence[str | None], *, whole: bool) -> pa.Array:
        """Return whether each text matches as a whole, or has a match; null stays null."""
        import pyarrow as pa  # 0.1 s in processes that only plan
        import pyarrow.compute as pc

        array = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
        encoded = array.dictionary_encode()  # matches equal texts once
        linear = self._linear(whole=whole)
        if linear is not None:
            matched = pc.match_substring_regex(encoded.dictionary, linear)
        else:
            test = self._pattern.fullmatch if whole else self._pattern.search
            matched = pa.array([test(text) is not None for text in encoded.dictionary.to_pylist()])
        return matched.cast(pa.bool_()).take(encoded.indices)

    def replaced(self, text: str, replacement: Callable[[Sequence[str]], str]) -> str:
        """Return the text with the first match replaced by the `replacement` of its groups, of
        which the first is the whole match; groups that did not take part are empty."""
        linear = self._linear(whole=False) if self._is_slow(text) else None
        if linear is None:
            return self._pattern.sub(
                lambda match: replacement([match[0], *match.groups(default="")]), text, count=1
            )
        import pyarrow as pa
        import pyarrow.compute as pc

        split = rf"\A(?P<before>(?s:.*?))(?P<g0>{linear})(?P<after>(?s:.*))\z"
        captured = pc.extract_regex(pa.array([text]), split)[0].as_py()
        if captured is None:
            return text
        groups = [captured[f"g{number}"] for number in range(self.groups + 1)]
        return f"{captured['before']}{replacement(groups)}{captured['after']}"

    def require_replaceable(self) -> None:
        """Require that all matches of a text can be replaced in time in proportion to it.

        Raises ValueError.
        """
        if effort(self._tree, whole=False).is_linear():
            return
        if self._linear(whole=False) is None or self._tree.getwidth()[0] == 0:
            raise ValueError(
                "it could take too long for a long text of a row: it repeats parts, and matches "
                f"no characters or has {_LACKED}"
            )
        if self.groups > _MAX_GROUPS:
            raise ValueError(f"it has more than {_MAX_GROUPS} groups")

    def replaced_everywhere(
        self, texts: Sequence[str], replacement: Callable[[Sequence[str]], str]
    ) -> list[str]:
        """Return the texts with each match replaced by the `replacement` of its groups, as
        `replaced` does for the first match. A replacement consists of its groups and constant texts
        in a fixed order."""
        if effort(self._tree, whole=False).is_linear():
            return [
                self._pattern.sub(
                    lambda match: replacement([match[0], *match.groups(default="")]), text
                )
                for text in texts
            ]
        import pyarrow as pa
        import pyarrow.compute as pc

        # U+10FFFF is not a character, so the marks of groups do not occur in a replacement.
        marks = [f"\U0010ffff{number}" for number in range(self.groups + 1)]
        rewrite = replacement(marks).replace("\\", r"\\")
        for number, mark in enumerate(marks):
            rewrite = rewrite.replace(mark, rf"\{number}")
        linear = self._linear(whole=False)
        assert linear is not None
        array = pa.array(texts, pa.large_string())
        replaced: list[str] = pc.replace_substring_regex(array, linear, rewrite).to_pylist()
        return replaced

    def _is_slow(self, text: str) -> bool:
        """Return whether Python may take much time for this text."""
        return self._is_ambiguous or len(text) > LONGEST_NAME

    def _linear(self, *, whole: bool) -> str | None:
        """Return the expression's form for RE2; None if it has no such form."""
        return self._whole if whole else self._inside

    @cached_property
    def _whole(self) -> str | None:
        return _accepted(self._tree, whole=True)

    @cached_property
    def _inside(self) -> str | None:
        return _accepted(self._tree, whole=False)


def _accepted(tree: Any, *, whole: bool) -> str | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        linear = linear_form(tree, whole=whole)
        pc.match_substring_regex(pa.array([""]), linear)  # for no texts it would compile nothing
    except (NoLinearForm, pa.ArrowInvalid):
        return None
    return linear


class Use(Enum):
    """The use of an expression."""

    NAMES = "names of tables, columns and topics: the whole name matches"
    WHOLE_TEXTS = "texts of rows, of any length, that match as a whole"
    TEXTS = "texts of rows, of any length, that have a match"


def compile_java_regex(
    text: str, *, case_matters: bool = False, use: Use = Use.NAMES
) -> Expression:
    """Compile `text` like `java.util.regex.Pattern` with CASE_INSENSITIVE (unless `case_matters`).

    Use `fullmatch`: Debezium's lists are anchored. Letters are compared in ASCII, as in Java.
    Raises ValueError, whose text names the expression and the error.
    """
    try:
        flags = re.ASCII if case_matters else re.IGNORECASE | re.ASCII
        expression = Expression(translate_java_regex(text), flags)
        if use is not Use.NAMES:
            expression.require_linear(whole=use is Use.WHOLE_TEXTS)
        return expression
    except (ValueError, re.error, OverflowError, RecursionError) as error:
        problem = str(error) or type(error).__name__
        raise ValueError(f"{text!r} is not a regular expression ({problem})") from None


def compile_like(text: str) -> Expression:
    """Compile a pattern of SQL's LIKE, for `whole`: % is any text, _ any character, a backslash
    escapes the next one."""
    parts, escaped = [], False
    for character in text:
        if escaped or character not in "%_\\":
            parts.append(re.escape(character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            parts.append(".*" if character == "%" else ".")
    return Expression("".join(parts), re.DOTALL | re.ASCII)
