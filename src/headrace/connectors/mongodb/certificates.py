"""Key stores and trust stores, converted to the PEM files that the driver reads."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.config.secret import Secret
from headrace.connectors.mongodb.config import MongoConfig
from headrace.errors import HeadraceError


@contextmanager
def certificate_options(config: MongoConfig) -> Iterator[dict[str, Any]]:
    """The driver's options for `mongodb.ssl.keystore` and `mongodb.ssl.truststore`. Files that are
    converted from PKCS #12 stores exist inside of the context only: the driver reads them when a
    client is created. Their private keys are encrypted.

    Raises HeadraceError: `mongodb.store_unreadable`, `mongodb.store_package`.
    """
    options: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="headrace-tls-") as folder:
        keys, trusted = config.mongodb_ssl_keystore, config.mongodb_ssl_truststore
        if keys is not None:
            password = config.mongodb_ssl_keystore_password
            if config.mongodb_ssl_keystore_type == "PKCS12":
                store = _read_store("mongodb.ssl.keystore", keys, password)
                keys = str(Path(folder) / "client.pem")
                password = Secret(secrets.token_hex(32))
                Path(keys).write_bytes(_client_text("mongodb.ssl.keystore", store, password))
            options["tlsCertificateKeyFile"] = keys
            if password is not None:
                options["tlsCertificateKeyFilePassword"] = password.reveal()
        if trusted is not None:
            if config.mongodb_ssl_truststore_type == "PKCS12":
                password = config.mongodb_ssl_truststore_password
                store = _read_store("mongodb.ssl.truststore", trusted, password)
                trusted = str(Path(folder) / "trusted.pem")
                Path(trusted).write_bytes(_trusted_text("mongodb.ssl.truststore", store))
            options["tlsCAFile"] = trusted
        yield options


def _read_store(name: str, path: str, password: Secret | None) -> Any:
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ModuleNotFoundError:
        raise HeadraceError(
            "mongodb.store_package",
            f"{name} is a PKCS #12 store; the package that reads it, cryptography, is missing",
            f"pip install 'headrace[mongodb-pkcs12]'; or {name}.type=PEM and a file of PEM text.",
        ) from None
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise HeadraceError(
            "mongodb.store_unreadable",
            f"{name}: {path} cannot be read ({error.strerror})",
            "Check the path and its permissions.",
        ) from None
    try:
        return load_pkcs12(content, None if password is None else password.reveal().encode())
    except ValueError:
        raise HeadraceError(
            "mongodb.store_unreadable",
            f"{name}: {path} is not a PKCS #12 store that {name}.password opens",
            f"Check {name}.password; `keytool -list -keystore FILE` shows what a store holds.",
        ) from None


def _client_text(name: str, store: Any, password: Secret) -> bytes:
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
    )

    if store.key is None or store.cert is None:
        raise HeadraceError(
            "mongodb.store_unreadable",
            f"{name} holds no private key with its certificate",
            "Put the server's certificates into mongodb.ssl.truststore.",
        )
    key: bytes = store.key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.reveal().encode())
    )
    chain = [store.cert, *store.additional_certs]
    return key + b"".join(
        certificate.certificate.public_bytes(Encoding.PEM) for certificate in chain
    )


def _trusted_text(name: str, store: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    certificates = [
        certificate
        for certificate in (store.cert, *store.additional_certs)
        if certificate is not None
    ]
    if not certificates:
        raise HeadraceError(
            "mongodb.store_unreadable",
            f"{name} holds no certificate",
            "Add the certificate of the authority that signed the server's certificate.",
        )
    return b"".join(
        certificate.certificate.public_bytes(Encoding.PEM) for certificate in certificates
    )
