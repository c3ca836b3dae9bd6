"""Encrypted connections, with key stores and trust stores, to a MongoDB that wants both."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo.errors import PyMongoError

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import connect, diagnose
from headrace.errors import HeadraceError
from headrace.testing.mongodb import MongoServer
from tests.servers.mongodb_kinds import EncryptedServer

pytest.importorskip("cryptography", reason="the extra mongodb-pkcs12 is not installed")

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Identity:
    """A private key and the certificate for it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls, name: str, signer: Identity | None = None, host: str = "127.0.0.1") -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(signer.certificate.subject if signer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=2))
            .add_extension(
                x509.BasicConstraints(ca=signer is None, path_length=None), critical=True
            )
        )
        if signer is not None:
            names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))])
            builder = builder.add_extension(names, critical=False)
        return cls(key, builder.sign(signer.key if signer else key, hashes.SHA256()))

    def pem(self, path: Path, password: str | None = None) -> Path:
        hidden: Any = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)
        path.write_bytes(key + self.certificate.public_bytes(Encoding.PEM))
        return path

    def store(self, path: Path, password: str) -> Path:
        hidden = BestAvailableEncryption(password.encode())
        content = pkcs12.serialize_key_and_certificates(
            b"client", self.key, self.certificate, None, hidden
        )
        path.write_bytes(content)
        return path

    def trusted(self, path: Path, password: str) -> Path:
        """A store with the certificate alone, as keytool makes trust stores."""
        entry = pkcs12.PKCS12Certificate(self.certificate, b"authority")
        hidden = BestAvailableEncryption(password.encode())
        path.write_bytes(pkcs12.serialize_java_truststore([entry], hidden))
        return path


@dataclass(frozen=True)
class Files:
    server: EncryptedServer
    folder: Path

    def configure(self, **properties: str) -> MongoConfig:
        """`properties` use `_` for `.`; names of files are those in the folder."""
        named_properties = {name.replace("_", "."): text for name, text in properties.items()}
        for name, text in named_properties.items():
            if (self.folder / text).is_file():
                named_properties[name] = str(self.folder / text)
        required = {"topic.prefix": "p", "mongodb.connection.string": self.server.uri,
                    "mongodb.server.selection.timeout.ms": "3000"}  # fmt: skip
        return MongoConfig.parse({**required, **named_properties})

    def answer(self, **properties: str) -> HeadraceError | None:
        config = self.configure(mongodb_ssl_enabled="true", **properties)
        try:
            with connect(config) as client:
                client.admin.command("ping")
        except HeadraceError as error:
            return error
        except PyMongoError as error:
            return diagnose(error, config)
        return None


@pytest.fixture(scope="module")
def files(
    mongodb_servers: Callable[[str], MongoServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Files]:
    assert mongodb_servers("plain").running
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = Identity.make("authority"), Identity.make("other")
    client = Identity.make("client", authority)
    certificate = folder / "authority.pem"
    certificate.write_bytes(authority.certificate.public_bytes(Encoding.PEM))
    client.pem(folder / "client.pem")
    client.pem(folder / "locked.pem", "pem pass")
    client.store(folder / "client.p12", "key pass")
    authority.trusted(folder / "trusted.p12", "trust pass")
    other.trusted(folder / "other.p12", "trust pass")
    server_identity = Identity.make("server", authority).pem(folder / "server.pem")
    with EncryptedServer(server_identity, certificate, folder / "client.pem") as server:
        server.start()
        yield Files(server, folder)


KEYS = {"mongodb_ssl_keystore": "client.p12", "mongodb_ssl_keystore_password": "key pass"}
TRUST = {"mongodb_ssl_truststore": "trusted.p12", "mongodb_ssl_truststore_password": "trust pass"}
PEM = {"mongodb_ssl_keystore_type": "PEM", "mongodb_ssl_truststore_type": "pem",
       "mongodb_ssl_truststore": "authority.pem"}  # fmt: skip


@pytest.mark.mongodb
class TestEncryption:
    """Stores that open the door, and others."""

    @pytest.mark.parametrize(
        "stores",
        [
            {**KEYS, **TRUST},
            {**PEM, "mongodb_ssl_keystore": "client.pem"},
            {**PEM, "mongodb_ssl_keystore": "locked.pem",
             "mongodb_ssl_keystore_password": "pem pass"},
        ],
    )  # fmt: skip
    def test_stores_of_both_kinds_open_connections(
        self, files: Files, stores: dict[str, str]
    ) -> None:
        assert files.answer(**stores) is None

    @pytest.mark.parametrize(
        ("stores", "code"),
        [
            (KEYS, "mongodb.tls"),  # nobody is trusted
            ({**KEYS, **TRUST, "mongodb_ssl_truststore": "other.p12"}, "mongodb.tls"),
            (TRUST, "mongodb.unreachable"),  # no certificate of ours: the server hangs up
            ({**KEYS, **TRUST, "mongodb_ssl_keystore_password": "hunter2"},
             "mongodb.store_unreadable"),
            ({**KEYS, **TRUST, "mongodb_ssl_truststore_password": "hunter2"},
             "mongodb.store_unreadable"),
            ({**KEYS, **TRUST, "mongodb_ssl_keystore": "trusted.p12",
              "mongodb_ssl_keystore_password": "trust pass"}, "mongodb.store_unreadable"),
            ({**KEYS, "mongodb_ssl_truststore": "nowhere.p12"}, "mongodb.store_unreadable"),
            ({**PEM, "mongodb_ssl_keystore": "locked.pem",
              "mongodb_ssl_keystore_password": "hunter2"}, "mongodb.connection_string"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_with_a_store_is_reported(
        self, files: Files, stores: dict[str, str], code: str
    ) -> None:
        error = files.answer(**stores, mongodb_server_selection_timeout_ms="1500")
        assert error is not None
        assert error.code == code, error
        assert "hunter2" not in str(error)

    def test_a_plain_connection_is_refused(self, files: Files) -> None:
        config = files.configure(mongodb_server_selection_timeout_ms="1500")
        with connect(config) as client, pytest.raises(PyMongoError) as raised:
            client.admin.command("ping")
        assert diagnose(raised.value, config).code == "mongodb.unreachable"

    def test_no_file_of_a_key_is_left_behind(
        self, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        assert files.answer(**KEYS, **TRUST) is None
        assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "client.p12"
    store.write_bytes(b"")
    name = "cryptography.hazmat.primitives.serialization.pkcs12"
    monkeypatch.setitem(__import__("sys").modules, name, None)
    config = MongoConfig.parse({
        "topic.prefix": "p", "mongodb.connection.string": "mongodb://h/?tls=true",
        "mongodb.ssl.keystore": str(store),
    })  # fmt: skip
    with pytest.raises(HeadraceError) as raised:
        connect(config)
    assert raised.value.code == "mongodb.store_package"
    assert "headrace[mongodb-pkcs12]" in raised.value.remedy
