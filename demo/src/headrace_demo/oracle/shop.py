"""The demo's database: a small shop on the stand-in for Oracle."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

from headrace.errors import HeadraceError
from headrace.testing.shop import CONVERTERS, GOODS, Shop, first_customers, first_products
from headrace_demo.oracle.server import OracleServer

SCHEMA = "INVENTORY"
CUSTOMERS, PRODUCTS = f"{SCHEMA}.CUSTOMERS", f"{SCHEMA}.PRODUCTS"
ORDERS, ITEMS = f"{SCHEMA}.ORDERS", f"{SCHEMA}.ORDER_ITEMS"
KEYS: Mapping[str, int] = {"CUSTOMERS": 1, "PRODUCTS": 1, "ORDERS": 1, "ORDER_ITEMS": 2}
"""The number of leading columns that are each table's key."""
TABLES = (
    {
        "name": CUSTOMERS,
        "columns": [
            "ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(40) NOT NULL", "EMAIL VARCHAR2(60) NOT NULL",
            "IS_VIP NUMBER(1,0) DEFAULT 0 NOT NULL",
        ],
        "key": ["ID"],
        "unique": [["EMAIL"]],
    },
    {
        "name": PRODUCTS,
        "columns": [
            "ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(40) NOT NULL", "PRICE NUMBER(10,2) NOT NULL",
            "STOCK NUMBER(9,0) NOT NULL",
        ],
        "key": ["ID"],
    },
    {
        "name": ORDERS,
        "columns": [
            "ID NUMBER(9,0) NOT NULL", "CUSTOMER_ID NUMBER(9,0) NOT NULL",
            "STATUS VARCHAR2(10) DEFAULT 'new' NOT NULL", "PLACED_AT TIMESTAMP(6) NOT NULL",
        ],
        "key": ["ID"],
    },
    {
        "name": ITEMS,
        "columns": [
            "ORDER_ID NUMBER(9,0) NOT NULL", "PRODUCT_ID NUMBER(9,0) NOT NULL",
            "QUANTITY NUMBER(9,0) NOT NULL", "PRICE NUMBER(10,2) NOT NULL",
        ],
        "key": ["ORDER_ID", "PRODUCT_ID"],
    },
)  # fmt: skip
Row = dict[str, Any]


class ShopDemo:
    """The demo of Oracle, which needs no Oracle."""

    server = "a stand-in for Oracle, which writes the redo that LogMiner tells"

    @contextmanager
    def open(self, uri: str | None) -> Iterator[ShopDatabase]:
        """Starts the stand-in with the shop's tables. Raises HeadraceError for the connection
        string of another server."""
        if uri is not None:
            raise HeadraceError(
                "oracle.demo_server",
                "The demo of Oracle starts a stand-in of its own, and reads no other server",
                "Remove --uri.",
            )
        with OracleServer() as server:
            server.load({"tables": TABLES})
            with server.transaction(user=SCHEMA) as transaction:
                for number, name, email in first_customers():
                    transaction.insert(CUSTOMERS, ID=number, NAME=name, EMAIL=email, IS_VIP=0)
                for number, name, price, stock in first_products():
                    transaction.insert(PRODUCTS, ID=number, NAME=name, PRICE=price, STOCK=stock)
            yield ShopDatabase(server)


class ShopDatabase:
    """The shop on the stand-in; see headrace.connectors.definition.DemoDatabase."""

    tables = tuple(KEYS)

    def __init__(self, server: OracleServer) -> None:
        self._server = server
        self.properties: Mapping[str, str] = {
            "connector.class": "oracle",
            "topic.prefix": "shop",
            **server.properties(),
            **CONVERTERS,
            "decimal.handling.mode": "string",
            "legacy.decimal.handling.strategy": "true",
            "table.include.list": rf"{SCHEMA}\..*",
            "include.schema.changes": "false",
        }
        visits = Visits(server)
        self.workload = Shop(
            [
                visits.place_order, visits.place_order, visits.ship, visits.reprice, visits.cancel,
                visits.change_key, visits.restock, visits.promote,
            ]
        )  # fmt: skip

    def rows(self, table: str) -> dict[tuple[Any, ...], Row]:
        """A table's rows by key: whole numbers, and texts."""
        rows = [
            {name: _plain(name, text) for name, text in row.items()}
            for row in self._server.rows(f"{SCHEMA}.{table}")
        ]
        return {tuple(row.values())[: KEYS[table]]: row for row in rows}

    def key(self, key: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of an event's key."""
        return tuple(key.values())

    def row(self, after: object) -> Row:
        """An event's `after`."""
        return cast("Row", after)

    def same_value(self, event: object, stored: object) -> bool:
        """Whether an event's JSON value equals the value from `rows`: times are microseconds."""
        if isinstance(stored, datetime) and isinstance(event, int):
            return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=event) == stored
        return event == stored


class Visits:
    """Actions of customers, each in a transaction: they order, change their minds and move."""

    def __init__(self, server: OracleServer) -> None:
        self._server = server
        self._chance = random.Random()  # noqa: S311 - sample data

    def place_order(self) -> None:
        """Insert an order with its items and reduce the stock: a transaction over three tables."""
        order = 1 + max((int(row["ID"] or 0) for row in self._server.rows(ORDERS)), default=0)
        products = {row["ID"]: row for row in self._server.rows(PRODUCTS)}
        now = datetime.now(UTC).replace(tzinfo=None)
        with self._server.transaction(user=SCHEMA) as transaction:
            transaction.insert(
                ORDERS, ID=order, CUSTOMER_ID=self._customer(), STATUS="new", PLACED_AT=str(now)
            )
            for key in self._chance.sample(range(1, len(GOODS) + 1), self._chance.randint(1, 3)):
                product, quantity = products[str(key)], self._chance.randint(1, 4)
                transaction.insert(
                    ITEMS, ORDER_ID=order, PRODUCT_ID=key, QUANTITY=quantity, PRICE=product["PRICE"]
                )
                left = int(product["STOCK"] or 0) - quantity
                transaction.update(PRODUCTS, {"ID": key}, STOCK=left)

    def ship(self) -> None:
        """Ship the oldest new order."""
        if new := self._new_orders():
            with self._server.transaction(user=SCHEMA) as transaction:
                transaction.update(ORDERS, {"ID": new[0]}, STATUS="shipped")

    def cancel(self) -> None:
        """Delete the newest new order with its items."""
        if new := self._new_orders():
            with self._server.transaction(user=SCHEMA) as transaction:
                transaction.delete(ITEMS, ORDER_ID=new[-1])
                transaction.delete(ORDERS, ID=new[-1])

    def reprice(self) -> None:
        """Change the price of a product."""
        product = self._chance.choice(self._server.rows(PRODUCTS))
        factor = Decimal(self._chance.randint(95, 106)) / 100
        price = (Decimal(str(product["PRICE"])) * factor).quantize(Decimal("0.01"))
        with self._server.transaction(user=SCHEMA) as transaction:
            transaction.update(PRODUCTS, {"ID": product["ID"]}, PRICE=price)

    def change_key(self) -> None:
        """Give a customer a new number: delete, tombstone and create in the stream."""
        numbers = sorted(int(row["ID"] or 0) for row in self._server.rows(CUSTOMERS))
        with self._server.transaction(user=SCHEMA) as transaction:
            transaction.update(CUSTOMERS, {"ID": numbers[0]}, ID=numbers[-1] + 1)

    def restock(self) -> None:
        """Increase the stock of products with a low stock."""
        with self._server.transaction(user=SCHEMA) as transaction:
            for row in self._server.rows(PRODUCTS):
                stock = int(row["STOCK"] or 0)
                if stock < 100:
                    transaction.update(PRODUCTS, {"ID": row["ID"]}, STOCK=stock + 25)

    def promote(self) -> None:
        """Change whether a customer is a VIP."""
        number = self._customer()
        (row,) = (
            customer for customer in self._server.rows(CUSTOMERS) if customer["ID"] == str(number)
        )
        with self._server.transaction(user=SCHEMA) as transaction:
            transaction.update(CUSTOMERS, {"ID": number}, IS_VIP=1 - int(row["IS_VIP"] or 0))

    def _customer(self) -> int:
        return int(self._chance.choice(self._server.rows(CUSTOMERS))["ID"] or 0)

    def _new_orders(self) -> list[int]:
        rows = self._server.rows(ORDERS)
        return sorted(int(row["ID"] or 0) for row in rows if row["STATUS"] == "new")


def _plain(name: str, text: str | None) -> object:
    """The JSON value of a stored text; prices have two digits after the point."""
    if name == "PRICE":
        return f"{Decimal(str(text)):.2f}"
    if name == "PLACED_AT":
        return datetime.fromisoformat(str(text)[:26]).replace(tzinfo=UTC)
    is_whole = text is not None and text.isdigit()
    return int(str(text)) if is_whole else text
