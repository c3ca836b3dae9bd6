"""A small shop for demonstrations in any database: its first rows, and the thread of its
customers."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

GOODS = ("kettle", "lamp", "mug", "notebook", "pen", "plate", "scarf", "spoon", "torch", "vase")

CONVERTERS: Mapping[str, str] = {
    "key.converter": "json",
    "key.converter.schemas.enable": "false",
    "value.converter": "json",
    "value.converter.schemas.enable": "false",
}
"""Properties of converters that write keys and values as JSON without schemas."""

_NAMES = ("Ada", "Bela", "Chidi", "Dora", "Emil", "Fatou", "Goran", "Hana", "Ivo", "June")


def first_customers() -> Iterator[tuple[int, str, str]]:
    """Number, name and e-mail address of each customer."""
    for number, name in enumerate(_NAMES, 1):
        yield number, name, f"{name.lower()}@example.org"


def first_products() -> Iterator[tuple[int, str, Decimal, int]]:
    """Number, name, price with two digits after the point, and stock of each product."""
    chance = random.Random(1)  # noqa: S311 - sample data
    for number, name in enumerate(GOODS, 1):
        price = Decimal(chance.randint(100, 9999)) / 100
        yield number, name, price, chance.randint(50, 500)


class Shop(threading.Thread):
    """Performs `actions` in turn, a few per second; each commits one transaction. See
    headrace.connectors.definition.Workload."""

    def __init__(self, actions: Sequence[Callable[[], None]], pause_s: float = 0.35) -> None:
        super().__init__(name="demo workload", daemon=True)
        self.transactions = 0
        self.failure: Exception | None = None
        self._actions, self._pause_s = actions, pause_s
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Ends after the current transaction."""
        self._stopping.set()
        if self.is_alive():
            self.join(10)

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._actions[self.transactions % len(self._actions)]()
                self.transactions += 1
                self._stopping.wait(self._pause_s)
        except Exception as error:  # noqa: BLE001 - the demo shows it
            self.failure = error
