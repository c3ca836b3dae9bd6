"""Chains of transforms, applied one after the other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from headrace.config.hidden import HiddenTexts
from headrace.connect.records import Records, Shape
from headrace.errors import HeadraceError
from headrace.transforms.blank_records import blank_records
from headrace.transforms.predicates import TopicNameMatches
from headrace.transforms.transform import (
    Foresight,
    FunctionTransform,
    Ordering,
    Predicate,
    Transform,
)

log = logging.getLogger(__name__)

_OF_IDS = (Ordering.ID_VALUES, Ordering.ID_TEXTS, Ordering.ID_NUMBERS)
_OF_KEY = "$Key"


@dataclass(frozen=True)
class ChainStep:
    """A transform with its alias, and the predicate that selects the records that it applies to."""

    alias: str
    transform: Transform
    kind: str = ""
    """The value of its property `type`."""
    predicate: Predicate | None = None
    negate: bool = False
    hidden: HiddenTexts = field(default_factory=HiddenTexts)
    """The texts of its properties that errors must not contain."""
    kernels: tuple[str, ...] = ()
    """See Declaration."""


Failed = Callable[[Records, ChainStep, HeadraceError], None]
"""Called with a record before the chain, the step that failed, and the error."""


@dataclass(frozen=True)
class Chain:
    """The transforms of a configuration, in order."""

    steps: tuple[ChainStep, ...] = ()

    @property
    def ordering(self) -> Ordering:
        """The combined effect of the transforms on the order of records with one key: the strongest
        of their effects, or NONE if the combination has a stronger one."""
        orderings = {step.transform.ordering for step in self.steps}
        if Ordering.NONE in orderings or self._mixes_keys(orderings):
            return Ordering.NONE
        for ordering in (*_OF_IDS, Ordering.PER_TABLE):
            if ordering in orderings:
                return ordering
        return Ordering.KEEPS_KEY

    @property
    def merges_topics(self) -> bool:
        """Whether several topics may become one."""
        return any(step.transform.ordering is Ordering.PER_TABLE for step in self.steps)

    @property
    def changes_keys(self) -> bool:
        """Whether a step is one of Kafka Connect's for keys, which may replace nulls by
        defaults."""
        return any(step.kind.endswith(_OF_KEY) for step in self.steps)

    @property
    def id_ordering(self) -> Ordering | None:
        """The ordering of the step that unwraps keys of documents, if any."""
        orderings = (step.transform.ordering for step in self.steps)
        return next((ordering for ordering in orderings if ordering in _OF_IDS), None)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The modules whose kernels its transforms call, in addition to those of every query."""
        return tuple(module for step in self.steps for module in step.kernels)

    def _mixes_keys(self, orderings: set[Ordering]) -> bool:
        """Whether a topic may get both keys that a step has changed and keys that it has not."""
        if len(orderings.intersection(_OF_IDS)) > 1:
            return True
        merges = Ordering.PER_TABLE in orderings
        for step in self.steps:
            changes_key = step.transform.ordering in _OF_IDS
            if step.predicate is None or not (changes_key or step.kind.endswith(_OF_KEY)):
                continue
            by_topic = isinstance(step.predicate, TopicNameMatches)
            if merges or (changes_key and not by_topic):
                return True
        return False

    def __call__(self, pieces: Sequence[Records], failed: Failed | None = None) -> list[Records]:
        """Apply the chain to the Records of a slice; pieces without records are left out.

        A record that a transform cannot process raises the transform's HeadraceError; with
        `failed`, calls it with the error instead, and leaves the record out.
        """
        if not self.steps:
            return list(pieces)
        transformed = [records for records in pieces if len(records)]
        originals = Originals(transformed) if failed is not None else None
        for step in self.steps:
            transformed = [
                result
                for records in transformed
                for result in _passed(step, records, failed, originals)
                if len(result)
            ]
        return transformed

    def expected(self, shape: Shape) -> list[Shape]:
        """Return the possible shapes of records of `shape` after the chain, as far as they do not
        depend on values."""
        if not self.steps:
            return [shape]
        expected = [blank_records(shape)]
        for step in self.steps:
            expected = [result for records in expected for result in _expected(step, records)]
        return list(dict.fromkeys(records.shape for records in expected))


class Originals:
    """Records before the chain, by their places."""

    def __init__(self, pieces: Sequence[Records]) -> None:
        self._pieces = pieces

    def of(self, records: Records) -> Iterator[Records]:
        """Yield the original of each record in `records`, as single Records."""
        for piece in self._pieces:
            of_piece = np.isin(piece.place, records.place)
            if of_piece.any():
                yield piece.with_rows(of_piece)


def _expected(step: ChainStep, records: Records) -> list[Records]:
    """Return the results of a step for blank records; empty if they depend on values."""
    transform = step.transform
    apply = transform.expected if isinstance(transform, Foresight) else transform.apply
    try:
        results = list(_split(step, records, apply))
    except Exception as error:  # noqa: BLE001 - custom transforms may raise any exception
        log.debug("transforms.%s needs values of %s: %s", step.alias, records.shape.topic, error)
        return []
    return [result for result in results if len(result)]


def _passed(
    step: ChainStep, records: Records, failed: Failed | None, originals: Originals | None
) -> Iterator[Records]:
    """Return the results of a step for Records."""

    def apply(matching: Records) -> Iterable[Records]:
        if failed is None or originals is None:
            return _applied(step, matching)
        return _tolerated(step, matching, failed, originals)

    return _split(step, records, apply)


def _split(
    step: ChainStep, records: Records, apply: Callable[[Records], Iterable[Records]]
) -> Iterator[Records]:
    """Yield the records that the step's predicate excludes, and the results of `apply` for the
    others."""
    matches = True if step.predicate is None else step.predicate.matches(records)
    if isinstance(matches, np.ndarray):
        mask = ~matches if step.negate else matches
        if not mask.any():
            yield records
            return
        if not mask.all():
            yield records.with_rows(~mask)
        records = records.with_rows(mask)
    elif matches == step.negate:
        yield records
        return
    yield from apply(records)


def _applied(step: ChainStep, records: Records) -> Iterable[Records]:
    try:
        return _sound(step.transform, records, list(step.transform.apply(records)))
    except HeadraceError as error:
        message = f"transforms.{step.alias}: {_shown(error.message, step)}"
        failure = HeadraceError(error.code, message, error.remedy, retriable=error.retriable)
        raise failure from _cause(step, error)
    except MemoryError:
        # Whether the record passes depends on the other memory of the process.
        raise HeadraceError(
            "transforms.out_of_memory",
            f"transforms.{step.alias}: the process has no more memory",
            "Give the executors more memory, or smaller batches.",
            retriable=True,
        ) from None
    except Exception as error:  # noqa: BLE001 - custom transforms may raise any exception
        text = _shown(str(error), step)
        raise HeadraceError(
            "transforms.raised",
            f"transforms.{step.alias}: {type(error).__name__}: {text}",
            "Correct the transform; errors.tolerance=all leaves such records out.",
        ) from _cause(step, error)


def _shown(text: str, step: ChainStep) -> str:
    return step.hidden.in_error(text, about=f"transforms.{step.alias}")


def _cause(step: ChainStep, error: Exception) -> Exception | None:
    """Return the cause that a traceback may show with the step's error; None if it may contain
    hidden texts."""
    return None if step.hidden.properties else error


def _sound(transform: Transform, records: Records, results: list[Records]) -> list[Records]:
    """Return the results of a transform after checking that they are records of `records`, each at
    most once.

    Raises HeadraceError("transforms.wrong_result").
    """
    is_own = isinstance(transform, FunctionTransform)
    if not is_own and type(transform).__module__.startswith("headrace."):
        return results
    for result in results:
        if not isinstance(result, Records) or not isinstance(result.shape, Shape):
            raise _wrong_result(f"it gave a {type(result).__name__} instead of Records")
    if results == [records]:
        return results
    if any(len(result.rows) != len(result.place) for result in results):
        raise _wrong_result("it gave Records with another number of rows than of places")
    places = np.concatenate([records.place[:0], *(result.place for result in results)])
    if len(np.unique(places)) != len(places):
        raise _wrong_result("it gave a record twice")
    if not np.isin(places, records.place).all():
        raise _wrong_result("it gave a record that it did not get")
    return results


def _wrong_result(message: str) -> HeadraceError:
    return HeadraceError(
        "transforms.wrong_result",
        message,
        "Give Records made of those that it got by with_rows, with_shape and with_column, each "
        "record in one of them at most.",
    )


def _tolerated(
    step: ChainStep, records: Records, failed: Failed, originals: Originals
) -> Iterator[Records]:
    """Apply a step to halves of the records until those that fail are isolated. Raises retriable
    errors, which do not concern a record."""
    try:
        yield from _applied(step, records)
        return
    except HeadraceError as error:
        if error.retriable:
            raise
        if len(records) == 1:
            for original in originals.of(records):
                failed(original, step, error)
            return
    first = np.arange(len(records)) < len(records) // 2
    yield from _tolerated(step, records.with_rows(first), failed, originals)
    yield from _tolerated(step, records.with_rows(~first), failed, originals)
