"""AWS's Signature Version 4 of a request to log in to RDS, computed without its package."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit


class RdsRequest(NamedTuple):
    """The content of a token."""

    host: str
    port: int
    user: str
    key: str
    region: str
    session: str
    begins: datetime
    ends: datetime
    is_signed: bool
    """Whether its signature is that of the secret it was read with."""


def read(token: str, word: str) -> RdsRequest:
    """The content of `token`; `word` is the secret of the key that should have signed it."""
    parts = urlsplit(f"https://{token}")
    pairs = dict(parse_qsl(parts.query, strict_parsing=True))
    assert pairs["Action"] == "connect"
    assert pairs["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
    key, day, region, service, end = pairs["X-Amz-Credential"].split("/")
    assert (service, end) == ("rds-db", "aws4_request")
    begins = datetime.strptime(pairs["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    signature = pairs.pop("X-Amz-Signature")
    query = "&".join(
        f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(pairs.items())
    )
    empty = hashlib.sha256(b"").hexdigest()
    request = f"GET\n{parts.path}\n{query}\nhost:{parts.netloc}\n\nhost\n{empty}"
    scope = f"{day}/{region}/{service}/{end}"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{pairs['X-Amz-Date']}\n{scope}\n{digest}"
    signing = f"AWS4{word}".encode()
    for part in (day, region, service, end):
        signing = hmac.new(signing, part.encode(), "sha256").digest()
    expected = hmac.new(signing, text.encode(), "sha256").hexdigest()
    return RdsRequest(
        parts.hostname or "",
        parts.port or 0,
        pairs["DBUser"],
        key,
        region,
        pairs.get("X-Amz-Security-Token", ""),
        begins,
        begins + timedelta(seconds=int(pairs["X-Amz-Expires"])),
        hmac.compare_digest(expected, signature),
    )
