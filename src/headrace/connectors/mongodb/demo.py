"""The demo's database: a small shop whose orders contain their items."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from bson import json_util
from bson.decimal128 import Decimal128
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import PyMongoError

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, connect, diagnose
from headrace.connectors.mongodb.connection_string import parse_connection_string
from headrace.connectors.mongodb.errors import grant_roles, in_shell, place, role_on
from headrace.connectors.mongodb.servers import IMAGES, read_server
from headrace.errors import HeadraceError
from headrace.testing.mongodb import MongoServer
from headrace.testing.shop import CONVERTERS, GOODS, Shop, first_customers, first_products

DATABASE = "headrace_demo"
COLLECTIONS = ("customers", "products", "orders")

Document = dict[str, Any]


class ShopDemo:
    """The demo of MongoDB."""

    server = "an embedded MongoDB"

    @contextmanager
    def open(self, uri: str | None) -> Iterator[ShopDatabase]:
        """Create the shop's database on the server of a connection string, else on an embedded one.
        Raises HeadraceError if there is no server, or if it has such a database."""
        with ExitStack() as stack:
            if uri is None:
                uri = stack.enter_context(MongoServer()).uri
            else:
                _check_uri(uri)
            properties = {
                "connector.class": "mongodb",
                "topic.prefix": "shop",
                "mongodb.connection.string": uri,
                "filters.match.mode": "literal",
                "capture.scope": "database",
                "capture.target": DATABASE,
                **CONVERTERS,
            }
            config = MongoConfig.parse(properties)
            with _as_given():
                client = stack.enter_context(connect(config))
                properties |= _open_shop(client, config, stack)
            try:
                yield ShopDatabase(client, properties)
            except PyMongoError as error:
                raise diagnose(error, config) from None


def _check_uri(uri: str) -> None:
    try:
        parse_connection_string(uri)
    except ValueError as error:
        raise HeadraceError(
            "mongodb.demo_uri",
            f"--uri is not a connection string of MongoDB: {error}",
            "Write --uri 'mongodb://HOST:PORT/?replicaSet=rs0'; user and password before the host "
            "are percent-encoded.",
        ) from None


@contextmanager
def _as_given() -> Iterator[None]:
    """Name the connection string in errors as the demo's user gave it."""
    try:
        yield
    except HeadraceError as error:
        message, remedy = (
            text.replace("mongodb.connection.string", "--uri")
            for text in (error.message, error.remedy)
        )
        if error.code == "mongodb.authentication":
            remedy = "Write the login into --uri: mongodb://USER:PASSWORD@HOST:PORT/?replicaSet=rs0"
        raise HeadraceError(error.code, message, remedy, retriable=error.retriable) from None


def _open_shop(client: Client, config: MongoConfig, stack: ExitStack) -> dict[str, str]:
    """Create the collections as `_make` does, and drop them when `stack` ends. Collections are
    dropped, because readWrite does not include the right to drop a database; a database without
    collections does not exist."""
    try:
        _refuse_existing(client, config)
        with ExitStack() as undo:
            properties = _make(client, config, undo)
            stack.push(undo.pop_all())
        return properties
    except PyMongoError as error:
        failure = diagnose(error, config)
        if failure.code != "mongodb.no_privilege":
            raise failure from None
        raise HeadraceError(
            "mongodb.demo_privilege",
            f"{place(config)} does not permit the user to create the database {DATABASE}",
            f"{grant_roles(config, role_on(DATABASE, 'readWrite'))}{in_shell(config)}, with which "
            "its change stream can be read, too.",
        ) from None


def _refuse_existing(client: Client, config: MongoConfig) -> None:
    read_server(client, config)
    if DATABASE in client.list_database_names():
        raise HeadraceError(
            "mongodb.demo_database",
            f"The server has a database {DATABASE}, which the demo creates and drops",
            f'Drop it, if it is not needed: db.getSiblingDB("{DATABASE}").dropDatabase()',
        )


def _make(client: Client, config: MongoConfig, undo: ExitStack) -> dict[str, str]:
    """Create the collections, which `undo` drops, and their first documents; return the properties
    that fit them."""
    keeps_images = read_server(client, config).version >= IMAGES
    shop = client[DATABASE]
    options = {"changeStreamPreAndPostImages": {"enabled": True}} if keeps_images else {}
    for name in COLLECTIONS:
        shop.command({"create": name, **options})
        undo.callback(_drop, client, config, name)
    for number, name, address in first_customers():
        shop.customers.insert_one({"_id": number, "name": name, "email": address, "is_vip": False})
    for number, name, price, stock in first_products():
        shop.products.insert_one(
            {"_id": number, "name": name, "price": Decimal128(price), "stock": stock}
        )
    if not keeps_images:
        return {}
    return {
        "capture.mode": "change_streams_update_full_with_pre_image",
        "capture.mode.full.update.type": "post_image",
    }


def _drop(client: Client, config: MongoConfig, name: str) -> None:
    try:
        client[DATABASE].drop_collection(name)
    except PyMongoError as error:
        raise diagnose(error, config, f"Dropping {DATABASE}.{name}") from None


class ShopDatabase:
    """The shop on a running server; see headrace.connectors.definition.DemoDatabase."""

    tables = COLLECTIONS

    def __init__(self, client: Client, properties: Mapping[str, str]) -> None:
        self.properties = properties
        self._shop = client[DATABASE]
        self.workload = Shop(_Visits(client).actions)

    def rows(self, table: str) -> dict[tuple[Any, ...], Document]:
        """A collection's documents by `_id`."""
        return {(document["_id"],): document for document in self._shop[table].find()}

    def key(self, key: Mapping[str, Any]) -> tuple[Any, ...]:
        """The `_id` in an event's key."""
        return (json_util.loads(key["id"]),)

    def row(self, after: object) -> Document:
        """The document in an event's `after`."""
        return cast("Document", json_util.loads(str(after)))

    def same_value(self, event: object, stored: object) -> bool:
        """Whether an event's value equals a value of `rows`."""
        return event == stored


class _Visits:
    """Actions of customers: they order, change their minds and move."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._shop: Database[Document] = client[DATABASE]
        self._chance = random.Random()  # noqa: S311 - sample data
        self.actions = (
            self._place_order, self._place_order, self._ship, self._reprice, self._cancel,
            self._move, self._restock, self._promote,
        )  # fmt: skip

    def _place_order(self) -> None:
        """Place an order, in a transaction over two collections."""
        numbers = self._chance.sample(range(1, len(GOODS) + 1), self._chance.randint(1, 3))
        items = [(number, self._chance.randint(1, 4)) for number in numbers]
        customer = self._customer()

        def commit(session: ClientSession) -> None:
            lines = []
            for number, quantity in items:
                product = self._shop.products.find_one_and_update(
                    {"_id": number}, {"$inc": {"stock": -quantity}}, session=session
                )
                assert product is not None
                lines.append({"product": number, "quantity": quantity, "price": product["price"]})
            order = {"customer": customer, "status": "new", "placed_at": datetime.now(UTC)}
            self._shop.orders.insert_one({**order, "items": lines}, session=session)

        with self._client.start_session() as session:
            session.with_transaction(commit)

    def _ship(self) -> None:
        self._shop.orders.find_one_and_update(
            {"status": "new"}, {"$set": {"status": "shipped"}}, sort=[("_id", 1)]
        )

    def _reprice(self) -> None:
        number = self._chance.randint(1, len(GOODS))
        product = self._shop.products.find_one({"_id": number})
        assert product is not None
        price = product["price"].to_decimal() * self._chance.randint(95, 106) / 100
        self._shop.products.update_one(
            {"_id": number}, {"$set": {"price": Decimal128(price.quantize(Decimal("0.01")))}}
        )

    def _cancel(self) -> None:
        self._shop.orders.find_one_and_delete({"status": "new"}, sort=[("_id", -1)])

    def _move(self) -> None:
        """Replace the document of a customer by a document with an address."""
        customer = self._shop.customers.find_one({"_id": self._customer()})
        assert customer is not None
        address = {"street": "Mill Lane", "number": self._chance.randint(1, 99)}
        self._shop.customers.replace_one({"_id": customer["_id"]}, {**customer, "address": address})

    def _restock(self) -> None:
        self._shop.products.update_many({"stock": {"$lt": 100}}, {"$inc": {"stock": 25}})

    def _promote(self) -> None:
        self._shop.customers.update_one(
            {"_id": self._customer()}, [{"$set": {"is_vip": {"$not": "$is_vip"}}}]
        )

    def _customer(self) -> int:
        return int(self._chance.choice(self._shop.customers.distinct("_id")))
