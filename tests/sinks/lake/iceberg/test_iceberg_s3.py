"""Warehouses on S3: options, and files by Arrow's client. No JVM."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.config.formats import read_mapping, read_text
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.sinks.iceberg.aliases import translated
from headrace.sinks.iceberg.definition import DEFINITION
from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.iceberg.options import IcebergOptions
from headrace.sinks.iceberg.storage import IcebergStorage
from headrace.sinks.replicas.files.bitmaps import bitmap
from headrace.sinks.replicas.files.data_files import sweep_files
from headrace.sinks.replicas.files.reading import DataFileReader
from headrace.sinks.replicas.files.s3 import S3Access, _is_virtual
from headrace.sinks.replicas.lake import Column, DataFile, TableSchema
from tests.docs.pages import block
from tests.servers.s3 import S3Server

WAREHOUSE = {"warehouse": "s3://bucket/lake", "catalog.uri": "jdbc:sqlite:/x/catalog.db"}
KEYS = {"catalog.s3.access-key-id": "AKIAVERYHIDDEN", "catalog.s3.secret-access-key": "t0p+s3/cret"}
SOURCE = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "localhost",
    "database.user": "u",
    "database.dbname": "d",
    "topic.prefix": "shop",
    "skipped.operations": "none",
}
SCHEMA = TableSchema((Column("id", pa.int64()), Column("v", pa.string())), ("id",))
FIELDS = ({"id": 1, "name": "id", "type": "long"}, {"id": 2, "name": "v", "type": "string"})


@pytest.fixture(autouse=True)
def no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


def refused(options: Mapping[str, str]) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        FORMAT.check(options)
    return raised.value


def closed_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "S3A"])
def test_the_schemes_of_s3_mean_the_same(scheme: str) -> None:
    iceberg_options = IcebergOptions.of(WAREHOUSE | {"warehouse": f"{scheme}://bucket//lake/"})
    assert (
        iceberg_options.warehouse == iceberg_options.properties["warehouse"] == "s3://bucket/lake"
    )
    assert iceberg_options.s3 == S3Access()
    assert iceberg_options.properties["io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"


@pytest.mark.parametrize("scheme", ["gs", "abfss", "hdfs"])
def test_other_stores_are_refused_by_name(scheme: str) -> None:
    error = refused(WAREHOUSE | {"warehouse": f"{scheme}://bucket/lake"})
    assert error.code == "iceberg.storage_not_supported"
    assert f"on {scheme}://" in error.message
    assert "s3://BUCKET/FOLDER" in error.remedy


def test_sqlite_on_s3_is_refused_and_elsewhere_taken() -> None:
    error = refused({"warehouse": "s3://bucket/lake"})
    assert error.code == "iceberg.option_missing"
    assert "SQLite cannot keep a JDBC catalog" in error.message
    assert "headrace.sink.catalog.uri" in error.message
    assert IcebergOptions.of(WAREHOUSE).properties["uri"] == "jdbc:sqlite:/x/catalog.db"


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({"warehouse": "s3://"}, "iceberg.impossible_option", "names no bucket"),
        (
            {"catalog.s3.path-style-access": "yes"},
            "iceberg.impossible_option",
            "s3.path-style-access = 'yes'",
        ),
        ({"catalog.s3.endpoint": "minio:9000"}, "iceberg.impossible_option", "not an address"),
        (
            {"catalog.s3.secret-access-key": "t0p+s3/cret"},
            "iceberg.option_missing",
            "lacks headrace.sink.catalog.s3.access-key-id",
        ),
        (
            {"catalog.s3.session-token": "t0ken"},
            "iceberg.option_missing",
            "lacks headrace.sink.catalog.s3.access-key-id",
        ),
        ({"catalog.s3.sse.type": "kms"}, "iceberg.impossible_option", "catalog.s3.sse.type"),
        (
            {"catalog.client.factory": "x.Y"},
            "iceberg.impossible_option",
            "headrace.sink.catalog.client.factory",
        ),
        (
            {"catalog.io-impl": "org.apache.iceberg.hadoop.HadoopFileIO"},
            "iceberg.impossible_option",
            "catalog.io-impl",
        ),
        ({"catalog.type": "hadoop"}, "iceberg.impossible_option", "not atomic on s3://"),
    ],
)
def test_options_that_cannot_be_on_s3_are_named(
    options: Mapping[str, str], code: str, text: str
) -> None:
    error = refused(WAREHOUSE | options)
    assert error.code == code
    assert text in error.message
    for secret in ("t0p+s3/cret", "t0ken"):
        assert secret not in str(error)


def test_both_clients_get_the_same_keys_endpoint_and_region() -> None:
    endpoint = {"catalog.s3.endpoint": "http://minio:9000/", "catalog.s3.region": "eu-north-1"}
    iceberg_options = IcebergOptions.of(
        WAREHOUSE | KEYS | endpoint | {"catalog.s3.session-token": "t0ken"}
    )
    assert iceberg_options.s3 is not None
    assert (iceberg_options.s3.endpoint, iceberg_options.s3.region) == (
        "http://minio:9000",
        "eu-north-1",
    )
    assert iceberg_options.s3.key_id is not None
    assert iceberg_options.s3.secret_key is not None
    assert iceberg_options.s3.session_token is not None
    assert (
        iceberg_options.s3.key_id.reveal()
        == "AKIAVERYHIDDEN"
        == iceberg_options.properties["s3.access-key-id"]
    )
    assert (
        iceberg_options.s3.secret_key.reveal()
        == "t0p+s3/cret"
        == iceberg_options.properties["s3.secret-access-key"]
    )
    assert (
        iceberg_options.s3.session_token.reveal()
        == "t0ken"
        == iceberg_options.properties["s3.session-token"]
    )
    assert iceberg_options.properties["client.region"] == "eu-north-1"
    assert "s3.region" not in iceberg_options.properties
    hidden_text = iceberg_options.safe("AKIAVERYHIDDEN and t0p+s3/cret, t0p%2Bs3%2Fcret with t0ken")
    for secret in ("AKIAVERYHIDDEN", "t0p+s3/cret", "t0p%2Bs3%2Fcret", "t0ken"):
        assert secret not in hidden_text
        assert secret not in repr(iceberg_options)


def test_a_region_is_that_of_the_environment_or_any_where_an_endpoint_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def region(**options: str) -> str | None:
        iceberg_options = IcebergOptions.of(
            WAREHOUSE | {f"catalog.{n}": text for n, text in options.items()}
        )
        assert iceberg_options.s3 is not None
        assert iceberg_options.s3.region == iceberg_options.properties.get("client.region", "")
        return iceberg_options.properties.get("client.region")

    assert region() is None
    assert region(**{"s3.endpoint": "http://minio:9000"}) == "us-east-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    assert region() == "eu-west-3"
    assert region(**{"client.region": "eu-north-1"}) == "eu-north-1"


def test_a_rest_catalog_is_on_s3_where_its_properties_say_so() -> None:
    rest = {"catalog.type": "rest", "catalog.uri": "http://catalog", "warehouse": "lake"}
    assert IcebergOptions.of(rest).s3 is None
    for name, text in (
        ("client.region", "eu-north-1"),
        ("s3.endpoint", "http://minio:9000"),
        ("io-impl", "org.apache.iceberg.aws.s3.S3FileIO"),
    ):
        assert IcebergOptions.of(rest | {f"catalog.{name}": text}).s3 is not None
    assert IcebergOptions.of(rest | {"warehouse": "s3://bucket/lake"}).s3 is not None


def test_packages_of_s3_are_there_for_s3_only() -> None:
    of_s3 = {
        "org.apache.iceberg:iceberg-aws:1.12.0",
        "org.apache.iceberg:iceberg-aws-bundle:1.12.0",
        "dev.failsafe:failsafe:3.3.2",
    }
    assert not of_s3 & set(FORMAT.packages({}))
    assert set(FORMAT.packages({"warehouse": "s3://bucket/lake"})) >= of_s3
    local = set(FORMAT.packages({"catalog.type": "hadoop"}))
    assert set(FORMAT.packages(WAREHOUSE)) - local - of_s3 == {"org.xerial:sqlite-jdbc:3.46.1.3"}


def test_properties_of_debezium_server_iceberg_reach_both_clients() -> None:
    properties = {
        "warehouse": "s3a://bucket/lake",
        "uri": "jdbc:sqlite:/x/catalog.db",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": "http://minio:9000",
        "s3.path-style-access": "true",
        "client.region": "eu-north-1",
        "fs.s3a.access.key": "AKIAVERYHIDDEN",
        "fs.s3a.secret.key": "t0p+s3/cret",
    }
    s3_access = IcebergOptions.of(translated(properties)).s3
    same = {name.replace("fs.s3a.", "catalog.s3."): text for name, text in properties.items()}
    assert s3_access is not None
    assert s3_access.is_path_style
    assert s3_access.endpoint == same["s3.endpoint"]
    assert s3_access.key_id is not None
    assert s3_access.key_id.reveal() == "AKIAVERYHIDDEN"


def test_the_properties_of_the_guide_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_PASSWORD", "p4ssw0rd")
    properties_text = block("docs/guides/replicas.md", "warehouse=s3").text
    sink = {"headrace.sink.type": "iceberg", "headrace.sink.mode": "replica"}
    lines = "".join(f"{name}={text}\n" for name, text in (SOURCE | sink).items())
    config = parse_configuration(read_text(lines + properties_text))
    assert DEFINITION.unknown_options(config) == []
    iceberg_options = IcebergOptions.of(DEFINITION.own_options(config))
    assert iceberg_options.warehouse == "s3://my-bucket/lake"
    assert iceberg_options.s3 == S3Access(region="eu-north-1")
    assert iceberg_options.properties["jdbc.password"] == "p4ssw0rd"


def test_a_bucket_is_in_the_name_of_the_host_unless_the_path_has_it_or_the_host_is_a_number() -> (
    None
):
    assert _is_virtual(S3Access("http://minio:9000"))
    assert not _is_virtual(S3Access("http://minio:9000", is_path_style=True))
    assert not _is_virtual(S3Access("http://127.0.0.1:9000"))
    assert not _is_virtual(S3Access("http://[::1]:9000"))
    assert not _is_virtual(S3Access())


def options_of(s3: S3Server, warehouse: str) -> dict[str, str]:
    catalog = {f"catalog.{name}": text for name, text in s3.properties.items()}
    return WAREHOUSE | {"warehouse": warehouse} | catalog


def storage(s3: S3Server, bucket: str) -> IcebergStorage:
    access = IcebergOptions.of(options_of(s3, f"s3://{bucket}")).s3
    return IcebergStorage("shop.t", SCHEMA, access, f"s3://{bucket}/lake/shop/t/data", FIELDS)


@pytest.mark.parametrize("folder", ["", "/a/lake"])
def test_the_check_writes_reads_and_deletes_one_object(s3: S3Server, folder: str) -> None:
    bucket = s3.bucket()
    proved = FORMAT.prove(options_of(s3, f"s3://{bucket}{folder}"))
    assert proved is not None
    assert f"s3://{bucket}{folder} at {s3.endpoint}" in proved
    assert s3.objects(bucket) == {}


def test_the_check_names_bucket_endpoint_and_answer_without_keys(s3: S3Server) -> None:
    with pytest.raises(HeadraceError) as raised:
        FORMAT.prove(options_of(s3, "s3://nobodys/lake"))
    error = raised.value
    assert error.code == "iceberg.storage_refused"
    for text in ("write", "bucket nobodys under lake/", s3.endpoint, "NO_SUCH_BUCKET"):
        assert text in error.message
    for secret in (s3.key_id, s3.secret_key):
        assert secret not in str(error)


@pytest.mark.parametrize(
    ("task", "actions"),
    [
        ("write", ["s3:GetObject", "s3:DeleteObject", "s3:ListBucket"]),
        ("read", ["s3:PutObject", "s3:DeleteObject", "s3:ListBucket"]),
        ("delete", ["s3:PutObject", "s3:GetObject", "s3:ListBucket"]),
    ],
)
def test_the_check_says_what_the_keys_may_not_do(
    s3: S3Server, task: str, actions: list[str]
) -> None:
    bucket, keys = s3.bucket(), s3.keys_for(*actions)
    allowed = {f"catalog.{name}": text for name, text in keys.items()}
    with pytest.raises(HeadraceError) as raised:
        FORMAT.prove(options_of(s3, f"s3://{bucket}/lake") | allowed)
    assert f"cannot {task} an object in the bucket {bucket} under lake/" in raised.value.message
    assert "ACCESS_DENIED" in raised.value.message
    assert f"s3:{ {'write': 'Put', 'read': 'Get', 'delete': 'Delete'}[task] }Object" in str(
        raised.value.remedy
    )


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("s3.secret-access-key", "SIGNATURE_DOES_NOT_MATCH"),
        ("s3.access-key-id", "INVALID_ACCESS_KEY_ID"),
    ],
)
def test_wrong_keys_are_refused_for_good(s3: S3Server, key: str, answer: str) -> None:
    options = options_of(s3, f"s3://{s3.bucket()}/lake") | {f"catalog.{key}": "wrong"}
    with pytest.raises(HeadraceError, match=answer):
        FORMAT.prove(options)
    access = IcebergOptions.of(options).s3
    s3_storage = IcebergStorage("shop.t", SCHEMA, access, options["warehouse"], FIELDS)
    with pytest.raises(HeadraceError, match=answer) as raised:
        s3_storage.sweep("b1-")
    assert (raised.value.code, raised.value.retriable) == ("replicas.storage_failed", False)


def test_headrace_check_has_the_storage_among_its_findings(s3: S3Server) -> None:
    def found(bucket: str) -> list[tuple[str, str]]:
        options = {"type": "iceberg", "mode": "replica", **options_of(s3, f"s3://{bucket}/lake")}
        sink = {f"headrace.sink.{name}": text for name, text in options.items()}
        findings = DEFINITION.check(parse_configuration(read_mapping(SOURCE | sink)))
        return [(each.code, each.level) for each in findings]

    assert found(s3.bucket()) == [("replicas.options", "ok"), ("replicas.storage", "ok")]
    assert found("nobodys") == [("replicas.options", "ok"), ("iceberg.storage_refused", "error")]


def test_the_check_says_that_nobody_answers() -> None:
    endpoint = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(HeadraceError) as raised:
        FORMAT.prove(WAREHOUSE | KEYS | {"catalog.s3.endpoint": endpoint})
    assert endpoint in raised.value.message
    assert "NETWORK_CONNECTION" in raised.value.message


def test_local_warehouses_are_tried(tmp_path: Path) -> None:
    proved = FORMAT.prove({"warehouse": str(tmp_path / "new" / "lake")})
    assert proved is not None
    assert str(tmp_path / "new" / "lake") in proved
    assert list(tmp_path.iterdir()) == []


def test_a_task_reads_and_writes_with_the_keys_that_it_is_sent(s3: S3Server) -> None:
    bucket = s3.bucket()
    packed = pickle.dumps(storage(s3, bucket))
    sent: IcebergStorage = pickle.loads(packed)
    assert s3.secret_key not in repr(sent)
    rows = pa.table({"id": [1, 2, 3], "v": ["a", None, "c"]})
    file = sent.write_rows(rows, "b1-f")
    assert file.path == f"{bucket}/lake/shop/t/data/b1-f.parquet"
    assert s3.objects(bucket) == {file.path: file.size}
    with DataFileReader(sent, file) as reader:
        assert reader.read(["v"], [0]).to_pydict() == {"v": ["a", None, "c"]}
    vector = sent.write_vector(file, bitmap([1]), "b1-v")
    assert f"s3://{bucket}/lake/shop/t/data/b1-v.puffin" in vector
    deleted = DataFile(file.path, file.rows, file.size, file.description, {}, vector, 1)
    assert list(sent.read_vector(deleted)) == [1]
    with s3.filesystem.open_input_file(file.path) as opened:
        assert pq.read_table(opened).num_rows == 3


def test_a_large_file_goes_in_parts_and_has_the_size_that_is_noted(s3: S3Server) -> None:
    bucket = s3.bucket()
    s3_storage = storage(s3, bucket)
    numbers = np.random.default_rng(7).integers(0, 1 << 62, 2_000_000)
    rows = pa.table({"id": numbers, "v": pa.nulls(len(numbers), pa.string())})
    file = s3_storage.write_rows(rows, "b1-f")
    assert file.size > 11 << 20  # more than one part
    assert s3.objects(bucket) == {file.path: file.size}


def test_a_sweep_takes_the_files_of_its_batch_alone(s3: S3Server) -> None:
    bucket = s3.bucket()
    s3_storage = storage(s3, bucket)
    assert s3_storage.sweep("b1-") == 0
    rows = pa.table({"id": [1], "v": ["a"]})
    files = [s3_storage.write_rows(rows, name) for name in ("b1-f", "b1-g", "b11-f")]
    s3_storage.write_vector(files[0], bitmap([0]), "b1-v")
    assert s3_storage.sweep("b1-") == 3
    assert list(s3.objects(bucket)) == [files[2].path]
    folder = files[2].path.rpartition("/")[0]
    assert sweep_files(s3.filesystem, folder, "b1") == 1


def test_what_s3_refuses_for_good_is_not_tried_again(s3: S3Server) -> None:
    s3_storage = storage(s3, "nobodys")
    rows = pa.table({"id": [1], "v": ["a"]})
    with pytest.raises(HeadraceError, match="NO_SUCH_BUCKET") as raised:
        s3_storage.write_rows(rows, "f")
    assert (raised.value.code, raised.value.retriable) == ("replicas.storage_failed", False)
    assert "s3://nobodys/lake/shop/t/data/f.parquet" in raised.value.message


def test_a_store_that_does_not_answer_is_tried_again(s3: S3Server) -> None:
    bucket = s3.bucket()
    file = storage(s3, bucket).write_rows(pa.table({"id": [1], "v": ["a"]}), "f")
    away = S3Access(f"http://127.0.0.1:{closed_port()}", "us-east-1")
    s3_storage = IcebergStorage("shop.t", SCHEMA, away, f"s3://{bucket}/lake/shop/t/data", FIELDS)
    with pytest.raises(HeadraceError, match="NETWORK_CONNECTION") as raised:
        DataFileReader(s3_storage, file)
    assert (raised.value.code, raised.value.retriable) == ("replicas.storage_failed", True)


def test_a_location_on_s3_needs_properties_that_say_so() -> None:
    local = IcebergStorage("shop.t", SCHEMA, None, "s3://bucket/lake/data", FIELDS)
    with pytest.raises(HeadraceError, match="do not say so") as raised:
        local.sweep("b")
    assert raised.value.code == "iceberg.storage_not_supported"
    remote = IcebergStorage("shop.t", SCHEMA, S3Access(), "/lake/data", FIELDS)
    with pytest.raises(HeadraceError, match="/lake/data is not on S3"):
        remote.sweep("b")
