"""Tokens of AWS IAM for RDS and Aurora: headrace.credentials.provider=aws-rds-iam."""

from __future__ import annotations

import logging
import pickle
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace.config.formats import read_text
from headrace.config.secret import Secret
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from tests.config.test_references import REQUIRED
from tests.config.tokens.conftest import Clock
from tests.config.tokens.identities import KEY, SESSION, WORD, Cloud
from tests.config.tokens.signatures import read
from tests.docs.pages import blocks

HOST = "shop.c1a2b3.eu-central-1.rds.amazonaws.com"


def configured(**more: str) -> PostgresConfig:
    """`more` uses `_` for `.`."""
    properties = {
        "headrace.credentials.provider": "aws-rds-iam",
        "database.hostname": HOST,
        "database.port": "5433",
        "database.user": "cdc/reader",
        "database.sslmode": "verify-full",
    }
    return PostgresConfig.parse(
        REQUIRED | properties | {name.replace("_", "."): text for name, text in more.items()}
    )


def secret(**more: str) -> Secret:
    password = configured(**more).database_password
    assert password is not None
    return password


@pytest.fixture
def container(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """The process runs in a container of a role, as on ECS or EKS."""
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{cloud.url}/container")
    return cloud


def test_a_token_is_signed_for_host_port_user_and_region_and_ends_in_15_minutes(
    container: Cloud,
) -> None:
    token = read(secret().reveal(), WORD)
    assert (token.host, token.port, token.user) == (HOST, 5433, "cdc/reader")
    assert (token.key, token.session, token.region) == (KEY, SESSION, "eu-central-1")
    assert abs(token.begins - datetime.now(UTC)) < timedelta(minutes=5)
    assert token.ends - token.begins == timedelta(minutes=15)
    assert token.is_signed
    assert not read(secret().reveal(), "another secret").is_signed


def test_the_properties_of_the_guide_give_a_token(container: Cloud) -> None:
    (page,) = (
        block
        for block in blocks("docs/guides/deployment.md", "properties")
        if "rds-iam" in block.text
    )
    config = parse_configuration(read_text(page.text))
    assert config.warnings == ()
    assert isinstance(config, PostgresConfig)
    assert config.database_password is not None
    token = read(config.database_password.reveal(), WORD)
    assert (token.user, token.region, token.is_signed) == ("cdc", "eu-west-1", True)


@pytest.mark.parametrize("where", ["property", "environment"])
def test_a_region_that_the_host_does_not_name_is_configured(
    container: Cloud, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    host = {"database_hostname": "db.example.com"}
    if where == "property":
        token_secret = secret(**host, headrace_credentials_region="sa-east-1")
    else:
        monkeypatch.setenv("AWS_DEFAULT_REGION", "sa-east-1")
        token_secret = secret(**host)
    assert read(token_secret.reveal(), WORD).region == "sa-east-1"


def test_without_a_region_the_property_is_named(container: Cloud) -> None:
    with pytest.raises(HeadraceError, match=r"region of db\.example\.com") as raised:
        secret(database_hostname="db.example.com").reveal()
    assert raised.value.code == "config.credentials_provider"
    assert "headrace.credentials.region" in raised.value.remedy


def test_the_role_of_a_machine_signs(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "false")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", cloud.url)
    token = read(secret().reveal(), WORD)
    assert token.is_signed
    assert token.session == SESSION
    assert cloud.asked("/latest/meta-data/iam/security-credentials/machine")


def test_a_role_that_sts_gives_signs(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "web").write_text("a token of Kubernetes")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "web"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", cloud.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    token = read(secret().reveal(), WORD)
    assert token.is_signed
    assert token.session == SESSION


def test_a_process_makes_one_token_until_shortly_before_its_end(
    container: Cloud, clock: Clock
) -> None:
    first = secret().reveal()
    clock.advance(9.5 * 60)
    assert secret().reveal() == first
    assert container.asked("/container") == 1
    clock.advance(60)  # the token is valid for four minutes and a half yet
    secret().reveal()
    assert container.asked("/container") == 2


def test_a_token_that_was_refused_is_made_again(container: Cloud) -> None:
    token_secret = secret()
    used = token_secret.reveal()
    token_secret.renewed(used)
    assert container.asked("/container") == 2
    token_secret.renewed("one of before")  # another connection had it renewed
    assert container.asked("/container") == 2


def test_a_token_is_in_no_log_no_message_and_no_pickle(
    container: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    config = configured()
    assert config.database_password is not None
    token = config.database_password.reveal()
    signature = token.rpartition("=")[2]
    assert len(signature) == 64
    for text in (caplog.text, repr(config), str(config.redacted())):
        assert signature not in text
        assert SESSION not in text
        assert WORD not in text
    packed = pickle.dumps(config)
    assert signature.encode() not in packed
    again = pickle.loads(packed)
    assert again == config
    assert again.fingerprint() == config.fingerprint()
    assert token not in config.hidden.in_error(f"FATAL: {token} is wrong")
    assert logging.getLogger("botocore").level == logging.NOTSET


def test_a_process_without_an_identity_is_an_error_at_once() -> None:
    with pytest.raises(HeadraceError, match="NoCredentialsError") as raised:
        secret().reveal()
    assert raised.value.code == "config.credentials_provider"
    assert not raised.value.retriable
    assert "role" in raised.value.remedy


def test_an_identity_that_does_not_answer_is_asked_again(
    container: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.utils import ContainerMetadataFetcher

    monkeypatch.setattr(ContainerMetadataFetcher, "SLEEP_TIME", 0)
    container.fails = True
    with pytest.raises(HeadraceError) as raised:
        secret().reveal()
    assert (raised.value.code, raised.value.retriable) == ("config.credentials_provider", True)
    container.fails = False
    assert read(secret().reveal(), WORD).is_signed


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    token_secret = secret()  # the configuration is read without it
    with pytest.raises(HeadraceError) as raised:
        token_secret.reveal()
    assert raised.value.code == "config.credentials_package"
    assert raised.value.remedy == "pip install 'headrace[aws]'"


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer"])
def test_a_token_is_not_sent_without_encryption(mode: str) -> None:
    with pytest.raises(HeadraceError, match="without encryption") as raised:
        configured(database_sslmode=mode)
    assert "verify-full" in raised.value.remedy
    with pytest.raises(HeadraceError, match="without encryption"):
        configured(driver_sslmode=mode)


def test_a_server_that_is_not_verified_is_a_warning() -> None:
    (warning,) = configured(database_sslmode="require").warnings
    assert warning.code == "config.token_unverified"
    for mode in ("verify-ca", "verify-full"):
        assert configured(database_sslmode=mode).warnings == ()


@pytest.mark.parametrize("other", ["database_password", "headrace_credentials_command"])
def test_a_token_has_no_password_beside_it(other: str) -> None:
    with pytest.raises(HeadraceError, match="are both set"):
        configured(**{other: "x"})
