"""Certificates of servers on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple


class Certificate(NamedTuple):
    """Files in PEM of a certificate for localhost, which signs itself, and of its key."""

    file: Path
    key: Path

    @classmethod
    def make(cls, folder: Path) -> Certificate:
        """A new one, valid for two days."""
        certificate = cls(folder / "certificate.pem", folder / "key.pem")
        subprocess.run(
            ["openssl", "req", "-new", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-newkey", "rsa:2048",
             "-keyout", certificate.key, "-out", certificate.file],
            check=True, capture_output=True,
        )  # fmt: skip
        return certificate
