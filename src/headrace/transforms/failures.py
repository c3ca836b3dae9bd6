"""Records that a transform or a converter cannot process: they end the query, are left out, or
become dead letters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.transforms import FailedRecordsConfig
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.records import Column, Constant, Header, Node, Records, Shape
from headrace.connect.schema import Schema, Type
from headrace.errors import HeadraceError
from headrace.transforms.chain import Chain, ChainStep, Originals
from headrace.transforms.transform import PerShape

log = logging.getLogger(__name__)

_PREFIX = "__connect.errors."
TRANSFORMATION = "TRANSFORMATION"
STAGES = {role: f"{role.upper()}_CONVERTER" for role in ("key", "value", "header")}
"""Kafka Connect's names of the stage that could not process a record."""
_TEXT = Schema(Type.STRING)


@dataclass(frozen=True)
class _Failure:
    """A record before the chain, and its error."""

    records: Records
    stage: str
    kind: str
    error: HeadraceError


@dataclass(frozen=True)
class _Letter:
    """The shape of dead letters, and the columns in which they differ."""

    shape: Shape
    stages: Column
    kinds: Column
    messages: Column
    traces: Column


@dataclass(frozen=True)
class FailurePolicy:
    """Handling of records that a transform or a converter cannot process.

    Without `tolerates` the first one ends the query. `dead_letters` is the topic of dead letters,
    which have the records' form before the chain; empty: the records are left out. `has_context`:
    dead letters have headers with the error. `connector` is its name in these headers.
    """

    tolerates: bool = False
    logs: bool = False
    dead_letters: str = ""
    has_context: bool = True
    connector: str = ""

    @staticmethod
    def of(config: ConnectorConfig) -> FailurePolicy:
        """The policy of a connector's configuration."""
        return FailurePolicy.named(config, config.name or config.topic_prefix)

    @staticmethod
    def named(config: FailedRecordsConfig, name: str) -> FailurePolicy:
        """Return the policy of a configuration; `name` is the connector's name in dead letters."""
        return FailurePolicy(
            config.errors_tolerance == "all",
            config.errors_log_enable,
            config.errors_deadletterqueue_topic_name,
            config.errors_deadletterqueue_context_headers_enable,
            name,
        )

    def run(self, chain: Chain, pieces: Sequence[Records]) -> list[Records]:
        """Run the chain over the Records of a slice and return its results, including dead letters.

        Raises HeadraceError for a record that is not tolerated.
        """
        if not self.tolerates:
            return chain(pieces)
        failures: list[_Failure] = []

        def failed(records: Records, step: ChainStep, error: HeadraceError) -> None:
            self.log_failure(records.shape.topic, error)
            failures.append(_Failure(records, TRANSFORMATION, step.kind, error))

        results = chain(pieces, failed)
        return results + self._letters(failures) if self.dead_letters else results

    def log_failure(self, topic: str, error: HeadraceError) -> None:
        """Log that a record of `topic` is left out."""
        level = logging.WARNING if self.logs else logging.DEBUG
        log.log(level, "A record of %s is left out: %s", topic, error)

    def unrendered(
        self, originals: Sequence[Records], converters: Mapping[str, str]
    ) -> Callable[[Records, str, HeadraceError], Records | None]:
        """Return a callback for records that have no rendering, for `SliceConverter.convert`: it
        returns the dead letter that replaces the record. `originals` are the Records before the
        chain, `converters` the names of the converters by role."""

        def failed(records: Records, role: str, error: HeadraceError) -> Records | None:
            if not self.tolerates:
                raise error
            is_letter = bool(self.dead_letters) and records.shape.topic == self.dead_letters
            self.log_failure(records.shape.topic, error)
            if is_letter or not self.dead_letters:
                return None  # the record has no rendering before the chain either
            (original,) = Originals(originals).of(records)
            return self._letter([_Failure(original, STAGES[role], converters[role], error)])

        return failed

    def _letters(self, failures: Sequence[_Failure]) -> list[Records]:
        by_shape: dict[Shape, list[_Failure]] = {}
        for failure in failures:
            by_shape.setdefault(failure.records.shape, []).append(failure)
        return [self._letter(shape_failures) for shape_failures in by_shape.values()]

    def _letter(self, failures: Sequence[_Failure]) -> Records:
        """Return failures of one shape as records of the dead letter topic."""
        failures = sorted(failures, key=lambda failure: int(failure.records.place[0]))
        first = failures[0].records
        partition = None
        if first.partition is not None:
            partition = np.concatenate([failure.records.partition for failure in failures])
        records = replace(
            first,
            rows=np.concatenate([failure.records.rows for failure in failures]),
            place=np.concatenate([failure.records.place for failure in failures]),
            partition=partition,
        )
        letter = self._shapes(first.shape)
        for column, texts in (
            (letter.stages, [failure.stage for failure in failures]),
            (letter.kinds, [failure.kind for failure in failures]),
            (letter.messages, [failure.error.message for failure in failures]),
            (letter.traces, [str(failure.error) for failure in failures]),
        ):
            records = with_values(records, column, pa.array(texts, pa.large_string()))
        return records.with_shape(letter.shape)

    @cached_property
    def _shapes(self) -> PerShape[_Letter]:
        return PerShape(self._shape)

    def _shape(self, shape: Shape) -> _Letter:
        stages, kinds, messages, traces = (column_of(_TEXT) for _ in range(4))
        headers = context(
            Constant(_TEXT, shape.topic), self.connector, stages, kinds, messages, traces
        )
        added = tuple(Header(name, node) for name, node in headers.items())
        all_headers = (*shape.headers, *added) if self.has_context else shape.headers
        letter = replace(shape, topic=self.dead_letters, headers=all_headers)
        return _Letter(letter, stages, kinds, messages, traces)


def context(
    topic: Node, connector: str, stage: Node, kind: Node, message: Node, trace: Node
) -> dict[str, Node]:
    """Return Kafka Connect's headers with the error of a dead letter, by name."""
    members = {
        "topic": topic,
        "connector.name": Constant(_TEXT, connector),
        "task.id": Constant(_TEXT, "0"),
        "stage": stage,
        "class.name": kind,
        "exception.class.name": Constant(_TEXT, f"{HeadraceError.__module__}.HeadraceError"),
        "exception.message": message,
        "exception.stacktrace": trace,
    }
    return {_PREFIX + name: node for name, node in members.items()}


def context_texts(
    connector: str, topic: str, stage: str, kind: str, error: HeadraceError
) -> dict[str, Constant]:
    """Return the headers of `context` for one record, as constants."""
    texts = (topic, stage, kind, error.message, str(error))
    of_topic, of_stage, of_kind, message, trace = (Constant(_TEXT, text) for text in texts)
    headers = context(of_topic, connector, of_stage, of_kind, message, trace)
    return {name: node for name, node in headers.items() if isinstance(node, Constant)}
