"""The contracts and declarations of transforms and predicates."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from headrace.config.configuration import Configuration
from headrace.connect.records import Records, Shape
from headrace.errors import HeadraceError
from headrace.transforms.example import Example

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Ordering(Enum):
    """The effect of a transform on the order of records with one key.

    Records are spread over slices by topic and key, or by key alone if several topics may become
    one. A chain with NONE makes one slice of a range. So the records of one key arrive in the order
    of their commits.
    """

    KEEPS_KEY = "keeps_key"
    """Records with different topics or keys never get the same topic and key."""
    PER_TABLE = "per_table"
    """Several topics may become one; keys stay."""
    ID_VALUES = "id_values"
    """The key of a document becomes the value of its `_id` in its own Connect type, which other
    BSON types may share; other keys and topics stay."""
    ID_TEXTS = "id_texts"
    """The key of a document becomes a text (STRING) of its `_id`, whatever its type; other keys and
    topics stay."""
    ID_NUMBERS = "id_numbers"
    """The key of a document becomes a number of one type; other keys and topics stay."""
    NONE = "none"
    """Topics and keys may change in any way."""


class Transform(Protocol):
    """A single message transform: made once from its options, free of I/O."""

    @property
    def ordering(self) -> Ordering:
        """The effect on the order of records with one key."""
        ...

    def apply(self, records: Records) -> Iterable[Records]:
        """Returns the transformed records: with another shape, fewer of them, or in several parts.

        Every record keeps its `place`, and is in one part at most. Objects that depend only on the
        shape are made once per shape (`PerShape`), because converters compile each shape that they
        receive. Raises HeadraceError for a record that cannot be transformed; if the chain may
        leave it out, it finds out which record it was.
        """
        ...


@runtime_checkable
class TakesSchemasOnly(Protocol):
    """A transform that passes change events without schemas unchanged, as Debezium's does."""

    @property
    def takes_schemas_only(self) -> bool:
        """Whether the transform takes only records with schemas."""
        ...


@runtime_checkable
class Foresight(Protocol):
    """A transform that declares the possible results for a shape. For other transforms, `apply`
    with records whose cells are all null shows the results
    (`headrace.transforms.blank_records`)."""

    def expected(self, records: Records) -> Iterable[Records]:
        """The possible results for records of this shape, for all values; nothing if the result
        depends on values."""
        ...


@runtime_checkable
class SharesHeaders(Protocol):
    """A transform that adds headers to the record that it receives, as Debezium's transforms do.

    The delete and the tombstone after it share one object of headers in Debezium, so the tombstone
    gets the headers of the delete, until a transform makes new records from them.
    """

    def share_headers(self) -> None:
        """Called before the first records if no earlier transform makes new records."""
        ...


class Predicate(Protocol):
    """Decides which records a transform applies to."""

    def matches(self, records: Records) -> bool | np.ndarray:
        """Whether the predicate is true for all records of this shape, or a bool for each."""
        ...


@dataclass(frozen=True)
class FormerOption:
    """A former option that is read as other options, with a warning. If its successor is set as
    well, the former option has no effect."""

    former: str
    successor: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Declaration(Generic[T]):
    """A transform (T) or predicate (T) as properties name it.

    `name` is its short name, `meaning` describes it in a sentence or two. `options` declares its
    properties, without the prefix `transforms.ALIAS.`; `make` receives them checked, and raises
    WrongOption for errors that concern several options. `replacements` returns the former options
    among the given ones, with their replacements. `example` is shown in the reference with its
    result. `kernels` are the modules whose kernels it calls, in addition to those of every query:
    they are compiled before the query starts.
    """

    name: str
    meaning: str
    options: type[Configuration]
    make: Callable[[Any], T]
    replacements: Callable[[Mapping[str, str]], Iterable[FormerOption]] | None = None
    example: Example | None = None
    kernels: tuple[str, ...] = ()


class WrongOption(HeadraceError):
    """The error of `Declaration.make` for one of its options: `option` is its name, without the
    prefix `transforms.ALIAS.`, and `reason` follows it in the message."""

    def __init__(self, code: str, option: str, reason: str, remedy: str) -> None:
        super().__init__(code, option + reason, remedy)
        self.option = option


class PerShape(Generic[T]):
    """Objects that a transform makes for shapes, once for each shape as long as it lives."""

    def __init__(self, make: Callable[[Shape], T]) -> None:
        self._make = make
        self._made: weakref.WeakKeyDictionary[Shape, tuple[T] | None] = weakref.WeakKeyDictionary()

    def __call__(self, shape: Shape) -> T:
        """The object of this shape."""
        if shape in self._made:
            known = self._made[shape]
            return shape if known is None else known[0]  # type: ignore[return-value]
        value = self._make(shape)
        # A value that holds its own key would keep it alive forever.
        self._made[shape] = None if value is shape else (value,)
        return value


def passing(records: Records, mask: np.ndarray) -> Generator[Records, None, Records | None]:
    """Yields the records that pass a transform unchanged (`mask`: bool, one per record), if there
    are any. Returns the other records; None if all pass."""
    if mask.any():
        yield records.with_rows(mask)
        records = records.with_rows(~mask)
        if not len(records):
            return None
    return records


def transform(*, ordering: Ordering) -> Callable[[F], F]:
    """Marks a function `(records, options) -> Iterable[Records]` as a custom transform, and
    declares its effect on the order."""

    def marked(function: F) -> F:
        function.ordering = ordering  # type: ignore[attr-defined]
        return function

    return marked


class _GivenOptions(dict[str, str]):
    """The options of a function, which declares none."""

    def __missing__(self, name: str) -> str:
        raise HeadraceError(
            "transforms.option_missing",
            f"the option {name} is missing",
            f"Set the option {name} of the transform.",
        )


@dataclass(frozen=True)
class FunctionTransform:
    """A transform that is a function of records and options."""

    function: Callable[[Records, Mapping[str, str]], Iterable[Records]]
    options: Mapping[str, str]

    @property
    def ordering(self) -> Ordering:
        """The mark of the function; NONE without one."""
        ordering = getattr(self.function, "ordering", Ordering.NONE)
        return ordering if isinstance(ordering, Ordering) else Ordering.NONE

    def apply(self, records: Records) -> Iterable[Records]:
        """Call the function. Raises HeadraceError("transforms.option_missing") for an option that
        it reads and that is not given."""
        return self.function(records, _GivenOptions(self.options))
