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
    """What a transform does to the order of records with one key.

    Records are spread over slices by topic and key, or by key alone where several topics may become
    one. A chain with NONE makes one slice of a range. So the records of one key arrive in the order
    of their commits.
    """

    KEEPS_KEY = "keeps_key"
    """Records with different topics or keys never get the same topic and key."""
    PER_TABLE = "per_table"
    """Several topics may become one; keys stay."""
    ID_VALUES = "id_values"
    """The key of a document becomes the value of its `_id` in the Connect type that it has by
    itself, which other types of BSON have as well; other keys and topics stay."""
    ID_TEXTS = "id_texts"
    """Likewise a text (STRING), whatever the type."""
    ID_NUMBERS = "id_numbers"
    """Likewise a number of one type."""
    NONE = "none"
    """Anything may become of topics and keys."""


class Transform(Protocol):
    """A single message transform: made once from its options, free of I/O."""

    @property
    def ordering(self) -> Ordering:
        """What it does to the order of records with one key."""
        ...

    def apply(self, records: Records) -> Iterable[Records]:
        """What becomes of the records: the same with another shape, fewer of them, several parts.

        Every record keeps its `place`, and is in one part at most. What depends on the shape alone
        is made once per shape (`PerShape`), because converters compile each shape that they meet.
        Raises HeadraceError for a record that cannot be transformed; the chain finds out which it
        was when it may leave it out.
        """
        ...


@runtime_checkable
class TakesSchemasOnly(Protocol):
    """A transform that passes change events without schemas as they are, as Debezium's does."""

    @property
    def takes_schemas_only(self) -> bool:
        """Whether the transform takes only records with schemas."""
        ...


@runtime_checkable
class Foresight(Protocol):
    """A transform that tells by itself what may become of a shape. Of any other one it is found out
    by `apply` with records whose cells are all null (`headrace.transforms.blank_records`)."""

    def expected(self, records: Records) -> Iterable[Records]:
        """What may become of records like these, whatever their values are; nothing where only
        values show it."""
        ...


@runtime_checkable
class SharesHeaders(Protocol):
    """A transform that puts headers on the record that it gets, as Debezium's own do it.

    The delete and the tombstone after it have one object of headers in Debezium, so the tombstone
    has what the delete was given, until a transform makes new records of them.
    """

    def share_headers(self) -> None:
        """Said before the first records, where no transform before it makes new records."""
        ...


class Predicate(Protocol):
    """Decides which records a transform applies to."""

    def matches(self, records: Records) -> bool | np.ndarray:
        """Whether the predicate is true for all records of this shape, or a bool for each."""
        ...


@dataclass(frozen=True)
class Replacement:
    """A former option that is read as other ones, with a warning. Where its successor is given as
    well, it is not read at all."""

    former: str
    successor: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Declaration(Generic[T]):
    """A transform (T) or predicate (T) as properties name it.

    `name` is its short name, `meaning` says what it does in a sentence or two. `options` declares
    its properties, without the prefix `transforms.ALIAS.`; `make` is called with them, checked. It
    raises WrongOption for what only several options together show. `replacements` says which of
    the options given are former ones, and their replacements. `example` is in the
    reference, with what becomes of it. `kernels` are the modules whose kernels it calls, beside
    those of every query: they are compiled before the query starts.
    """

    name: str
    meaning: str
    options: type[Configuration]
    make: Callable[[Any], T]
    replacements: Callable[[Mapping[str, str]], Iterable[Replacement]] | None = None
    example: Example | None = None
    kernels: tuple[str, ...] = ()


class WrongOption(HeadraceError):
    """What `Declaration.make` raises for one of its options: `option` is its name, without the
    prefix `transforms.ALIAS.`, and `what` goes on after it in the message."""

    def __init__(self, code: str, option: str, what: str, remedy: str) -> None:
        super().__init__(code, option + what, remedy)
        self.option = option


class PerShape(Generic[T]):
    """What a transform makes of a shape, once as long as the shape lives."""

    def __init__(self, make: Callable[[Shape], T]) -> None:
        self._make = make
        self._made: weakref.WeakKeyDictionary[Shape, tuple[T] | None] = weakref.WeakKeyDictionary()

    def __call__(self, shape: Shape) -> T:
        """What was made of this shape."""
        if shape in self._made:
            made = self._made[shape]
            return shape if made is None else made[0]  # type: ignore[return-value]
        value = self._make(shape)
        # A value that holds its own key would keep it for ever.
        self._made[shape] = None if value is shape else (value,)
        return value


def passing(records: Records, mask: np.ndarray) -> Generator[Records, None, Records | None]:
    """Yields the records that pass a transform as they are (`mask`: bool, one per record), where
    there are any. The result is the other records; None when all pass."""
    if mask.any():
        yield records.with_rows(mask)
        records = records.with_rows(~mask)
        if not len(records):
            return None
    return records


def transform(*, ordering: Ordering) -> Callable[[F], F]:
    """Marks a function `(records, options) -> Iterable[Records]` as a transform of one's own and
    says what it does to order."""

    def marked(function: F) -> F:
        function.ordering = ordering  # type: ignore[attr-defined]
        return function

    return marked


@dataclass(frozen=True)
class FunctionTransform:
    """A transform that is a function of records and options."""

    function: Callable[[Records, Mapping[str, str]], Iterable[Records]]
    options: Mapping[str, str]

    @property
    def ordering(self) -> Ordering:
        """What the function was marked with; NONE when it was not."""
        ordering = getattr(self.function, "ordering", Ordering.NONE)
        return ordering if isinstance(ordering, Ordering) else Ordering.NONE

    def apply(self, records: Records) -> Iterable[Records]:
        """Calls the function."""
        return self.function(records, self.options)
