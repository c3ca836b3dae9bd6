"""Runs the steps of a large batch, in this process or as tasks of Spark."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, TypeVar

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark import SparkContext

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Runner(Protocol):
    """Calls a function with each of several arguments."""

    @abstractmethod
    def run(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        """Return the results in the order of the arguments. The function may run elsewhere, more
        than once and several times concurrently: function, arguments and results are picklable, and
        the results are small. Raises what the function raises."""


class HereRunner:
    """Runs the function in threads of this process."""

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or min(os.cpu_count() or 1, 4)

    def run(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        """See Runner."""
        if len(arguments) < 2:
            return [function(argument) for argument in arguments]
        with ThreadPoolExecutor(min(self._threads, len(arguments))) as pool:
            return list(pool.map(function, arguments))


class SparkRunner:
    """Runs the function in tasks of a Spark application, one for each argument."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def run(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        """See Runner. A HeadraceError of a task is raised as such."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        if not arguments:
            return []
        try:
            spread = self._context.parallelize(list(arguments), len(arguments))
            return spread.map(function).collect()
        except (Py4JJavaError, PySparkException) as error:
            known_error = HeadraceError.find_in(str(error))
            if known_error is None:
                raise
            raise known_error from None
