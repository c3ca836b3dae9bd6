"""Findings: problems of and warnings about one property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from headrace.errors import HeadraceError

_IGNORED = "config.ignored"
UNKNOWN = "config.unknown_property"
"""The code for names that no declaration has."""
NOT_SUPPORTED = "config.not_supported"
"""The code for settings that are valid, but not supported by this version."""


class PropertyFinding(NamedTuple):
    """A problem or warning. `code` is dotted and stable, `property` is Debezium's name (or empty:
    the configuration as a whole)."""

    code: str
    property: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]. {self.remedy}"


def ignored(name: str) -> PropertyFinding:
    """Return the warning for a property of Kafka Connect or Debezium Server that the connector does
    not have."""
    return PropertyFinding(
        _IGNORED,
        name,
        f"{name} belongs to the process of Kafka Connect or Debezium Server and is ignored",
        "It may stay in the configuration.",
    )


def superseded(name: str, successor: str) -> PropertyFinding:
    """Return the warning for a former property whose successor is set as well."""
    return PropertyFinding(
        "config.former_option",
        name,
        f"{name} has no effect, because {successor} is set",
        "Remove it.",
    )


def with_unknown_ones(
    problems: Sequence[PropertyFinding], warnings: Sequence[PropertyFinding], *, fail: bool | None
) -> tuple[list[PropertyFinding], list[PropertyFinding]]:
    """Return problems and warnings. Findings about unknown properties are problems if `fail`,
    warnings if not; None leaves them as they are."""
    if fail is None:
        return list(problems), list(warnings)
    others = [finding for finding in problems if finding.code != UNKNOWN]
    other_warnings = [finding for finding in warnings if finding.code != UNKNOWN]
    unknown = [finding for finding in (*problems, *warnings) if finding.code == UNKNOWN]
    return (others + unknown, other_warnings) if fail else (others, other_warnings + unknown)


def summarized(findings: Iterable[PropertyFinding]) -> Iterator[PropertyFinding]:
    """Yield findings for an operator: those about ignored properties become one, which comes last;
    its `property` is the first of them."""
    names = []
    for finding in findings:
        if finding.code == _IGNORED:
            names.append(finding.property)
        else:
            yield finding
    if len(names) == 1:
        yield ignored(names[0])
    elif names:
        yield PropertyFinding(
            _IGNORED,
            names[0],
            f"{', '.join(names[:-1])} and {names[-1]} belong to the process of Kafka Connect or "
            "Debezium Server and are ignored",
            "They may stay in the configuration.",
        )


def error_of(problems: Sequence[PropertyFinding]) -> HeadraceError:
    """Return all problems, at least one, as one error."""
    only_unsupported = all(problem.code == NOT_SUPPORTED for problem in problems)
    code = NOT_SUPPORTED if only_unsupported else "config.invalid"
    if len(problems) == 1:
        return HeadraceError(code, problems[0].message, problems[0].remedy)
    parts = [HeadraceError(problem.code, problem.message, problem.remedy) for problem in problems]
    sentences = "; ".join(f"{_sentence(part.message)} {part.remedy.rstrip('.')}" for part in parts)
    return HeadraceError(
        code,
        f"{len(problems)} errors: {sentences}",
        "Correct them; `headrace describe` lists what each property accepts.",
        parts=parts,
    )


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text}."
