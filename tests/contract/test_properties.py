"""Every property of every connector, with an example of each kind and each value of an
enumeration: it is fingerprinted, pickled, rendered, packed into options, and starts a connector."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from headrace import options
from headrace.config.configuration import Configuration
from headrace.config.property import Family, Property, Support
from headrace.connectors.registry import find_definition, open_connector, parse_options
from headrace.connectors.states import Situation
from headrace.errors import HeadraceError
from headrace.spark.query import status
from tests.contract.changes import Event, Insert, Update
from tests.contract.run import THINGS, Run
from tests.contract.subjects.postgresql import PostgresSubject
from tests.servers.postgresql import Database

_JDBC = {"database.user": "u", "database.password": "p", "database.dbname": "d"}
MINIMAL: dict[str, dict[str, str]] = {
    "postgresql": {"topic.prefix": "shop", "database.hostname": "h", **_JDBC},
    "mongodb": {"topic.prefix": "shop", "mongodb.connection.string": "mongodb://h:1/?replicaSet=r"},
    "db2": {"topic.prefix": "shop", "database.hostname": "h", **_JDBC},
    "oracle": {"topic.prefix": "shop", "database.hostname": "h", **_JDBC},
}
"""The properties that each connector needs."""

EXAMPLES = (
    "17",
    "1000",
    "false",
    "10 s",
    "inventory.orders",
    "inventory.orders:id,name",
    "inventory.orders:FULL,inventory.audit.*:INDEX audit_key",
    "shop.orders.total,shop.*.secret.inner",
    "shop.orders.total:sum",
    "c,t",
    "name=value;other=1",
    '[{"$match": {"operationType": "insert"}}]',
    "mongodb://a:1,b:2/?replicaSet=r",
    "jdbc:oracle:thin:@//h:1521/free",
    "SET a = 1; SET b = ';;'",
    "some_name",
    "org.apache.kafka.connect.json.JsonConverter",
)
"""Texts of which each kind takes at least one."""

OF_THEIR_OWN: dict[str, str] = {
    "connector.class": "",
    "transforms": "filter",
    "predicates": "tombstone",
    "table.include.list": "inventory.orders,inventory.order_[a-z]+",
    "post.processors": "reselector",
    "signal.enabled.channels": "file",
    "notification.enabled.channels": "log",
    "signal.data.collection": "inventory.orders",
    "headrace.capture.time.zone": "Europe/Berlin",
}
"""Examples of properties whose kind says less than what they take. Empty: it chooses the suite."""

INSTEAD = {
    "headrace.credentials.command": ("database.password", "mongodb.password"),
    "headrace.credentials.provider": ("database.password",),
}
"""Properties that cannot be there beside one."""
_KAFKA_HISTORY = {"bootstrap.servers": "h:1", "topic": "history"}
TOGETHER: dict[str, Mapping[str, str]] = {
    "headrace.credentials.provider": {"database.sslmode": "verify-full"},
    "snapshot.mode=configuration_based": {
        "snapshot.mode.configuration.based.snapshot.data": "true"
    },
    **{
        f"topic.naming.strategy=io.debezium.schema.{name}RegexTopicNamingStrategy": {
            "topic.regex": "(.*)",
            "topic.replacement": "$1",
        }
        for name in ("Default", "Schema", "Table")
    },
    "topic.key.field.regex": {"topic.key.field.replacement": "x"},
    "transforms": {
        "transforms.filter.type": "Filter",
        "transforms.filter.condition": "value.op == 'c'",
        "transforms.filter.language": "python",
    },
    "predicates": {
        "predicates.tombstone.type": "org.apache.kafka.connect.transforms.predicates."
        "RecordIsTombstone"
    },
    "post.processors": {
        "reselector.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor"
    },
    "signal.data.collection": {"signal.enabled.channels": "source"},
    **{
        f"{role}.converter=avro": {f"{role}.converter.schema.registry.url": "http://h:1"}
        for role in ("key", "value", "header")
    },
    "schema.history.internal=file": {"schema.history.internal.file.filename": "history.json"},
    "schema.history.internal=kafka": {
        f"schema.history.internal.kafka.{name}": text for name, text in _KAFKA_HISTORY.items()
    },
    "schema.history.internal.kafka.topic": {
        "schema.history.internal.kafka.bootstrap.servers": "h:1"
    },
    "log.mining.strategy=dictionary_from_file": {"log.mining.path.dictionary": "/dictionary"},
    "cursor.oversize.handling.mode=skip": {"cursor.oversize.skip.threshold": "1000"},
    "capture.scope=database": {"capture.target": "inventory"},
    "capture.scope=collection": {"capture.target": "inventory.orders"},
}
"""Further properties that a property, or a value of it, needs."""


def _texts(connector: str, declaration: Property[Any]) -> list[str]:
    """Examples: each value of an enumeration, else the first text that is not the default."""
    if declaration.name == "signal.data.collection" and connector == "oracle":
        return ["D.INVENTORY.ORDERS"]
    if declaration.name in OF_THEIR_OWN:
        return [text for text in [OF_THEIR_OWN[declaration.name]] if text]
    if declaration.kind.values:
        return list(declaration.kind.values)
    for text in EXAMPLES:
        try:
            value = declaration.kind.parse(text)
        except ValueError:
            continue
        if value != declaration.default:
            return [text]
    raise AssertionError(f"no example of {declaration.name}: {declaration.kind.expects}")


def _examples() -> Iterator[Any]:
    for connector in MINIMAL:
        for declaration in find_definition(connector).configuration().properties().values():
            if _texts(connector, declaration):
                yield pytest.param(connector, declaration, id=f"{connector}-{declaration.name}")


def _is_refused(declaration: Property[Any], text: str) -> bool:
    if text in declaration.refused_values:
        return True
    is_default = declaration.kind.parse(text) == declaration.default
    return declaration.status.support is Support.REFUSED and not is_default


@pytest.mark.filterwarnings("ignore::headrace.errors.HeadraceWarning")
@pytest.mark.parametrize(("connector", "declaration"), [*_examples()])
def test_each_value_of_each_property_is_usable_everywhere_or_refused_by_its_name(
    connector: str, declaration: Property[Any]
) -> None:
    left_out = INSTEAD.get(declaration.name, ())
    minimal = {"connector.class": connector, **MINIMAL[connector]}
    minimal = {name: text for name, text in minimal.items() if name not in left_out}
    without = parse_options(options(minimal))
    accepted = []
    for text in _texts(connector, declaration):
        needed = TOGETHER.get(declaration.name) or TOGETHER.get(f"{declaration.name}={text}", {})
        properties = {**minimal, **needed, declaration.name: text}
        property_options, refusal = _options(properties)
        if refusal is not None:
            assert declaration.name in refusal.message
            is_refused = refusal.code == "config.not_supported"
            assert is_refused or _is_refused(declaration, text), refusal
            continue
        config = parse_options(property_options)
        accepted.append(text)
        _is_usable(config)
        beside = parse_options(options({**minimal, **needed})) if needed else without
        is_same = config.value_of(declaration.attribute) == beside.value_of(declaration.attribute)
        has_part = not declaration.kind.is_secret
        has_part &= declaration.status.support is not Support.NOT_NEEDED
        is_equal = config.fingerprint() == beside.fingerprint()
        assert is_equal == (is_same or not has_part), text
    assert accepted or declaration.status.support is Support.REFUSED


def _options(properties: Mapping[str, str]) -> tuple[dict[str, str], HeadraceError | None]:
    try:
        return options(properties), None
    except HeadraceError as refusal:
        return {}, refusal


def _is_usable(config: Configuration) -> None:
    fingerprint = config.fingerprint()
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert copy.fingerprint() == fingerprint
    assert hash(copy) == hash(config)
    assert repr(copy) == repr(config)
    assert copy.redacted() == config.redacted()
    file = status.StatusFile(config)  # type: ignore[arg-type]
    file.write(Situation("streaming", None, 0, 0.0))
    file.remove()
    connector = open_connector(config, cores=1, inline=False, orphaned=lambda: False)  # type: ignore[arg-type]
    connector.close()


_MEMBERS = {
    "snapshot.max.threads.multiplier.TABLE": "snapshot.max.threads.multiplier.inventory.orders",
    "column.truncate.to.LENGTH.chars": "column.truncate.to.20.chars",
    "column.mask.with.LENGTH.chars": "column.mask.with.0.chars",
    "column.mask.hash.v2.ALGORITHM.with.salt.SALT": "column.mask.hash.v2.SHA-256.with.salt.abc",
    "column.mask.hash.ALGORITHM.with.salt.SALT": "column.mask.hash.SHA-256.with.salt.abc",
}
"""Members of families whose variable parts are not free."""


def _families() -> Iterator[Any]:
    for connector in MINIMAL:
        for declaration in find_definition(connector).configuration().families().values():
            if declaration.status.support is Support.SUPPORTED and declaration.name in _MEMBERS:
                yield pytest.param(connector, declaration, id=f"{connector}-{declaration.name}")


@pytest.mark.parametrize(("connector", "declaration"), [*_families()])
def test_a_member_of_each_family_is_usable_everywhere(
    connector: str, declaration: Family[Any]
) -> None:
    minimal = {"connector.class": connector, **MINIMAL[connector]}
    text = "4" if "threads" in declaration.name else "inventory.orders.note"
    config = parse_options(options({**minimal, _MEMBERS[declaration.name]: text}))
    _is_usable(config)
    assert config.fingerprint() != parse_options(options(minimal)).fingerprint()


@pytest.mark.postgres
def test_a_query_with_identity_rules_sets_them_and_reads_changes(database: Database) -> None:
    rules = "public.things:FULL,public.marks:INDEX marks_pkey"
    subject = PostgresSubject(database)
    with Run.start(subject, replica_identity_autoset_values=rules) as run:
        _is_usable(run.config)
        subject.apply(THINGS, [Insert(1, "one"), Update(1, "two")])
        assert run.deliver().collection_events() == [Event("c", 1, "one"), Event("u", 1, "two")]
        identities = (
            "SELECT relname, relreplident FROM pg_class WHERE relname IN ('things', 'marks')"
        )
        assert dict(database.execute(identities)) == {"things": "f", "marks": "i"}  # type: ignore[arg-type]
