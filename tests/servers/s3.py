"""A stand-in for S3 on a free port: moto's server, in a process of its own, which checks keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import IO, Any

import pyarrow.fs

_SERVER = """\
import json, logging, sys
import boto3
from moto.server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
endpoint = f"http://127.0.0.1:{server.get_host_and_port()[1]}"


def client(key_id="none", secret_key="none"):
    return boto3.client(
        "iam", endpoint_url=endpoint, region_name="us-east-1",
        aws_access_key_id=key_id, aws_secret_access_key=secret_key,
    )


def user(iam, name, actions):
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


first = user(client(), "first", ["*"])
print(json.dumps([endpoint, *first]), flush=True)
for line in sys.stdin:
    print(json.dumps(user(client(*first), *json.loads(line))), flush=True)
"""
_UNCHECKED = "3"
"""Requests before moto checks keys: those that make the first user."""


def has_s3() -> bool:
    """Whether moto is installed, which is in the extra `dev`."""
    return find_spec("moto") is not None


class S3Server:
    """Runs until `close`. It refuses keys that are not its users', and wrong signatures."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": _UNCHECKED},
        )
        self.endpoint, self.key_id, self.secret_key = self._printed()
        self._made = 0

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _printed(self) -> list[str]:
        printed: IO[str] | None = self._process.stdout
        assert printed is not None
        words: list[str] = json.loads(printed.readline())
        return words

    def bucket(self) -> str:
        """A new bucket."""
        self._made += 1
        name = f"lake{self._made}"
        self._filesystem(allow_bucket_creation=True).create_dir(name)
        return name

    def keys_for(self, *actions: str) -> dict[str, str]:
        """`properties` of a new user who may do this alone, `s3:GetObject` for example."""
        self._made += 1
        assert self._process.stdin is not None
        print(json.dumps([f"user{self._made}", actions]), file=self._process.stdin, flush=True)
        key_id, secret_key = self._printed()
        keys = {"s3.access-key-id": key_id, "s3.secret-access-key": secret_key}
        return self.properties | keys

    @property
    def properties(self) -> dict[str, str]:
        """The storage's properties as Iceberg's catalogs name them, in Java and in Python."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.access-key-id": self.key_id,
            "s3.secret-access-key": self.secret_key,
            "s3.path-style-access": "true",
        }

    @property
    def filesystem(self) -> pyarrow.fs.S3FileSystem:
        """The storage as a file system, to look into buckets."""
        return self._filesystem()

    def _filesystem(self, **more: Any) -> pyarrow.fs.S3FileSystem:
        return pyarrow.fs.S3FileSystem(
            access_key=self.key_id,
            secret_key=self.secret_key,
            endpoint_override=self.endpoint,
            region="us-east-1",
            **more,
        )

    def objects(self, folder: str) -> dict[str, Any]:
        """The sizes of the objects in a folder, `BUCKET/KEY`, by their paths."""
        selector = pyarrow.fs.FileSelector(folder, recursive=True, allow_not_found=True)
        file_infos = self.filesystem.get_file_info(selector)
        return {each.path: each.size for each in file_infos if each.is_file}
