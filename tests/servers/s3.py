"""A stand-in for S3 on a free port: moto's server, in a process of its own."""

from __future__ import annotations

import secrets
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from typing import IO, Any

import pyarrow.fs

_SERVER = """\
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


def has_s3() -> bool:
    """Whether moto is installed, which is in the extra `dev`."""
    return find_spec("moto") is not None


class S3Server:
    """Runs until `close`. It takes any keys; those that it names are made up for the test."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        printed: IO[str] | None = self._process.stdout
        assert printed is not None
        self.endpoint = f"http://127.0.0.1:{int(printed.readline())}"
        self.key_id, self.secret_key = f"KEY{secrets.token_hex(8)}", secrets.token_hex(20)
        self._buckets = 0

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def bucket(self) -> str:
        """A new bucket."""
        self._buckets += 1
        name = f"lake{self._buckets}"
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        with urllib.request.urlopen(request):
            return name

    @property
    def properties(self) -> dict[str, str]:
        """As Iceberg's catalogs name them, in Java and in Python."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.access-key-id": self.key_id,
            "s3.secret-access-key": self.secret_key,
            "s3.path-style-access": "true",
        }

    @property
    def filesystem(self) -> pyarrow.fs.S3FileSystem:
        """To look into buckets."""
        return pyarrow.fs.S3FileSystem(
            access_key=self.key_id,
            secret_key=self.secret_key,
            endpoint_override=self.endpoint,
            region="us-east-1",
        )

    def objects(self, folder: str) -> dict[str, Any]:
        """The sizes of the objects in a folder, `BUCKET/KEY`, by their paths."""
        selector = pyarrow.fs.FileSelector(folder, recursive=True, allow_not_found=True)
        found = self.filesystem.get_file_info(selector)
        return {each.path: each.size for each in found if each.is_file}
