"""Filter and ContentBasedRouter with conditions in Groovy."""

from __future__ import annotations

from tests.golden.transforms.workloads.workload import (
    ABSENT,
    Option,
    Transform,
    Workload,
    workload,
)

LANGUAGE = {"language": "jsr223.groovy"}
ROWS = ("pg_create", "pg_read", "pg_update_before", "pg_update", "pg_delete", "pg_tombstone",
        "pg_truncate", "ora_update", "ora_delete", "db2_create", "pg_heartbeat", "small",
        "tombstone", "empty")  # fmt: skip
VALUES = ("pg_types", "pg_types_update", "pg_types_nulls", "pg_types_delete")
CONDITIONS = (
    "true",
    "false",
    "null",
    "1",
    "'text'",
    "value.op == 'u'",
    'value.op != "d"',
    "value.op == 'u' && value.before != null",
    "value.op == 'c' || value.op == 'r'",
    "!(value.op == 'u')",
    "value.after == null",
    "value.after != null && value.after.name == 'Anne'",
    "value.after?.name == 'Anne'",
    "value?.after?.email != null",
    "value.source.table == 'customers'",
    "value.source.lsn > 1000",
    "value.source.lsn >= 29804432 && value.source.lsn <= 29804432",
    "value.after.id == 1",
    "value.after.id > 0.5",
    "value.after.id < -1",
    "value.ts_ms == 1700000001000",
    "value.after.active",
    "value.after.active == true",
    "value.after.email == null ? value.op == 'u' : false",
    "(value.op == 'd' ? value.before : value.after).id == 1",
    "key.id == 1",
    "key != null && key.ID == 1001",
    "topic == 'shop.public.customers'",
    "topic.startsWith('shop.')",
    "topic.endsWith('customers') || topic.contains('CUSTOMERS')",
    "topic ==~ /shop\\.public\\..*/",
    "topic =~ /CUSTOMERS/",
    "value.op in ['c', 'r']",
    "keySchema.name() == 'shop.public.customers.Key'",
    "valueSchema.name() == 'shop.public.customers.Envelope'",
    "header.trace.value == 't-1'",
    "header['__debezium.context.connectorName'] != null",
    "header.isEmpty()",
    "value.absent == 1",
    "value.after.absent == 1",
    "absent == 1",
    "value.op ==",
    "value.after.name.length() == 4",
    "value.after.name.toUpperCase() == 'ANNE'",
    "value.n == 5",
    'value.name == "Ann" && value.n + 1 == 6',
    "value.source.schema == 'public'",
    "value['op'] == 'u'",
    "value.get('op') == 'u'",
    "not value.op",
    "value.after.name == 'Łódź €😀'",
    "value.op == 'u' /* update */ // only",
    "",
)
TYPED = (
    "value.after.tiny == -8",
    "value.after.small < 0",
    "value.after.whole == 42",
    "value.after.whole == 42L",
    "value.after.large == 9007199254740993",
    "value.after.large > 9007199254740992",
    "value.after.single == 1.5",
    "value.after.double == 0.1",
    "value.after.double < 1e10",
    "value.after.flag",
    "!value.after.flag",
    "value.after.text == 'none'",
    "value.after.code > 'A'",
    "value.after.code <= 'B'",
    "value.after.price == 123.45",
    "value.after.price > 0",
    "value.after.date == 19675",
    "value.after.zoned.startsWith('2023')",
    "value.after.tags.size() == 3",
    "value.after.tags.contains('a')",
    "value.after.counts.a == '1'",
    "value.after.point.x == 1.5",
    "value.after.whole == null",
    "value.after.text",
    "value.after.whole",
    "value.after.whole == '42'",
    "value.after.id.equals(7)",
    "value.after.id.equals(7L)",
    "value.after.whole.equals(42)",
    "value.after.text.equals('none')",
    "value.after.bytes ? true : false",
    "value.after.whole == value.before.whole",
    "value.after.whole != value.before.whole && value.after.whole > value.before.whole",
    "value.after.text - 'on' == 'ne'",
    "value.after.text - 'n' == 'one'",
    "value.after.text - '' == value.after.text",
    "value.after.text - value.after.code == value.after.text",
    "value.after.text - null == 'none'",
    "value.after.text - value.after.whole != null",
    "value.after.whole - 'a' == 1",
)
DATES = (
    "value.at == 1700000000123",
    "value.at != 0",
    "value.at == null",
    "value.at > 0",
    "value.at == value.at",
    "value.at >= value.date",
    "value.date < value.at",
    "value.date == value.o_at",
    "value.time < value.date",
    "value.at ? true : false",
    "value.at == '1700000000123'",
    "value.at in [0, 1700000000123]",
    "value.o_at != null && value.o_at <= value.at",
)


def scripted_filter() -> Workload:
    """Debezium's Filter."""
    transform = Transform(
        "io.debezium.transforms.Filter",
        (
            Option("condition", CONDITIONS),
            Option("language", ("jsr223.groovy", "groovy", "jsr223.none", "")),
            Option("null.handling.mode", ("keep", "drop", "evaluate", "KEEP", "wrong"),
                   {"condition": "value == null || value.op == 'u'"}),
            Option("topic.regex", (r"shop\..*", "shop", ".*CUSTOMERS", "nothing", "("),
                   {"condition": "value.op == 'u'"}),
        ),
        ROWS,
        {**LANGUAGE, "condition": "value.op == 'u'"},
    )  # fmt: skip
    more = [transform.case(f"types: {condition}", {"condition": condition}, VALUES)
            for condition in TYPED]  # fmt: skip
    more += [transform.case(f"dates: {condition}", {"condition": condition},
                            ("instants", "instants_2"))
             for condition in DATES]  # fmt: skip
    more += [
        transform.case("no condition", {"condition": ABSENT}),
        transform.case("no language", {"language": ABSENT}),
        transform.case("tombstones evaluated", {"condition": "value != null && value.op == 'c'",
                                                "null.handling.mode": "evaluate"}),
        transform.case("no schema", {"condition": "value.id == 9"}, ("no_schema",)),
    ]  # fmt: skip
    return workload("Filter", [transform], more)


EXPRESSIONS = (
    "'fixed'",
    "null",
    "value.op == 'u' ? 'updates' : null",
    "value.op == 'u' ? 'updates' : topic",
    "topic + '.' + value.op",
    "value.source.table",
    "value.after.name",
    "value.after == null ? null : value.after.name",
    "value.after?.name ?: 'nobody'",
    '"${topic}.copy"',
    '"${value.source.schema}_x"',
    "topic.toLowerCase()",
    "topic.replace('public', 'private')",
    "value.after.id",
    "1",
    "''",
    "key.id == 1 ? 'first' : 'others'",
    "value.op == 'c' ? 'a' : value.op == 'u' ? 'b' : 'c'",
    "header.trace == null ? topic : header.trace.value",
    "absent",
    "value.op ==",
)


def content_based_router() -> Workload:
    """Debezium's ContentBasedRouter."""
    transform = Transform(
        "io.debezium.transforms.ContentBasedRouter",
        (
            Option("topic.expression", EXPRESSIONS),
            Option("language", ("jsr223.groovy", "groovy")),
            Option(
                "null.handling.mode",
                ("keep", "drop", "evaluate"),
                {"topic.expression": "value == null ? 'gone' : 'there'"},
            ),
            Option("topic.regex", (r"shop\..*", "shop", ".*CUSTOMERS")),
        ),
        ROWS,
        {**LANGUAGE, "topic.expression": "'fixed'"},
    )
    more = [transform.case("no expression", {"topic.expression": ABSENT})]
    return workload("ContentBasedRouter", [transform], more)
