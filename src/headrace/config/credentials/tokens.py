"""Tokens of clouds in place of passwords: `headrace.credentials.provider`.

The clouds' own packages make them, with the identity that they find on the machine: environment
variables, profiles, the roles of containers and machines. Only this module imports them.
"""

from __future__ import annotations

import logging
import os
import re
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from headrace.config.credentials.kept import KeptSecret
from headrace.config.secret import without_passwords
from headrace.errors import HeadraceError

PROVIDER = "headrace.credentials.provider"
REGION = "headrace.credentials.region"
SCOPE = "headrace.credentials.scope"
AWS, ENTRA = "aws-rds-iam", "entra-id"
DATABASE_SCOPE = "https://ossrdbms-aad.database.windows.net/.default"
_EXPIRES = re.compile(r"[?&]X-Amz-Expires=(\d+)")
_REGION = re.compile(r"\.([a-z0-9-]+)\.rds\.amazonaws\.com(?:\.cn)?$")
_EARLY, _EARLY_PART = 300.0, 3
"""A token is used until 300 seconds before its end, or, if it lives for less than three times as
long, for two thirds of its life."""
_TALKATIVE = ("boto3", "botocore", "urllib3", "azure", "msal")
"""Loggers of the packages, which log requests and signatures at the level DEBUG."""


class CloudToken(KeptSecret):
    """A token of a cloud, which a process keeps until shortly before it expires."""

    @property
    @abstractmethod
    def provider(self) -> str:
        """The provider's name among the values of `PROVIDER`."""

    @abstractmethod
    def made(self) -> tuple[str, float]:
        """Return a new token, and the seconds until it expires. Raises the errors of the cloud's
        package."""

    def fetch(self) -> tuple[str, float]:
        """See KeptSecret. Raises HeadraceError: "config.credentials_package",
        "config.credentials_provider"."""
        try:
            with _silent():
                token, seconds = self.made()
        except HeadraceError:
            raise
        except Exception as error:  # noqa: BLE001 - the packages have errors of their own
            name = type(error).__name__
            # Waiting does not help a machine that has no identity.
            lacks = name in (
                "NoCredentialsError",
                "PartialCredentialsError",
                "NoRegionError",
                "ProfileNotFound",
                "ClientAuthenticationError",
            )
            raise HeadraceError(
                "config.credentials_provider",
                f"{PROVIDER}={self.provider} returned no token: {name}: "
                f"{without_passwords(' '.join(str(error).split()))}",
                "Give the process an identity of the cloud: variables of its environment, a "
                "profile, or a role of its container or machine, on every host that runs tasks.",
                retriable=not lacks,
            ) from None
        return token, seconds - min(_EARLY, seconds / _EARLY_PART)


@dataclass(frozen=True)
class RdsToken(CloudToken):
    """An authentication token of AWS IAM for a role of RDS or Aurora: a request signed here, for
    one host, port and user. `region` None: that of the host's name, or of the environment."""

    host: str
    port: int
    user: str
    region: str | None = None

    @property
    def provider(self) -> str:
        """See CloudToken."""
        return AWS

    def made(self) -> tuple[str, float]:
        """See CloudToken."""
        session = _imported("boto3", AWS, "aws").session.Session()
        match = _REGION.search(self.host)
        region = self.region or (match[1] if match else session.region_name)
        if not region:
            raise HeadraceError(
                "config.credentials_provider",
                f"{PROVIDER}={AWS} does not know the region of {self.host}",
                f"Set {REGION}, for example to eu-west-1.",
            )
        client = session.client("rds", region_name=region)
        token = str(client.generate_db_auth_token(self.host, self.port, self.user, region))
        expires = _EXPIRES.search(token)
        return token, float(expires[1]) if expires else 0.0


@dataclass(frozen=True)
class EntraToken(CloudToken):
    """An access token of Microsoft Entra ID for `scope`."""

    scope: str = DATABASE_SCOPE

    @property
    def provider(self) -> str:
        """See CloudToken."""
        return ENTRA

    def made(self) -> tuple[str, float]:
        """See CloudToken."""
        identity = _imported("azure.identity", ENTRA, "azure")
        # An authority set in the environment may be in a cloud that instance discovery does not
        # know.
        is_named = "AZURE_AUTHORITY_HOST" in os.environ
        # A credential caches its tokens, so a new one is made for each token.
        with identity.DefaultAzureCredential(disable_instance_discovery=is_named) as credential:
            token = credential.get_token(self.scope)
        return str(token.token), float(token.expires_on) - time.time()


def _imported(package: str, provider: str, extra: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise HeadraceError(
            "config.credentials_package",
            f"{PROVIDER}={provider} needs a package that is not installed ({error})",
            f"pip install 'headrace[{extra}]'",
        ) from None


@contextmanager
def _silent() -> Iterator[None]:
    """Suspend the packages' log records below WARNING."""
    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(max(logger.getEffectiveLevel(), logging.WARNING))
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
