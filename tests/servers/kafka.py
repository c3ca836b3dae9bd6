"""A real Kafka broker of one node, from Maven Central, on free ports."""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from headrace.java import find_java
from headrace.spark.jvm.maven import fetch_jars

_RELEASE = "4.3.1"
_MODULE = ("org.apache.kafka", "kafka_2.13", _RELEASE)
_QUIET = {"log_level": "2"}
_FAST = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners={listener}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={listener}://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name={listener}
log.dirs={folder}/data
num.network.threads=2
num.io.threads=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=2097152
"""


# TLS with a certificate of its own, and a login.
_SECURED = """
listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config={login} user_{user}="{password}";
ssl.keystore.type=PEM
ssl.keystore.location={folder}/server.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.pem
ssl.endpoint.identification.algorithm=
"""
_SCRAM = (
    "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config="
    "org.apache.kafka.common.security.scram.ScramLoginModule required;\n"
)
_LOGIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="{user}" '
    'password="{password}"'
)


class KafkaServer:
    """Started by `start`, which may be called again after `stop`; `close` removes its data."""

    def __init__(self) -> None:
        self.client = dict(_QUIET)
        """Settings of a client that may do everything, without the address."""
        self._java = find_java() / "bin" / "java"
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = self._folder / "server.properties"
        self._choose_ports()
        self._started = False
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # An id may begin with a dash.
        cluster_id = f"--cluster-id={cluster}"
        format_folder = ["kafka.tools.StorageTool", "format", cluster_id, "-c", self._settings]
        subprocess.run(
            [self._java, *_FAST, "-cp", _jars(self._java), *format_folder],
            check=True,
            capture_output=True,
            timeout=300,
        )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def _choose_ports(self) -> None:
        self._port, controller = _free_ports(2)
        self._settings.write_text(self._text(controller))

    def _text(self, controller: int, listener: str = "PLAINTEXT") -> str:
        """The broker's settings."""
        return _SETTINGS.format(
            port=self._port, controller=controller, folder=self._folder, listener=listener
        )

    def start(self) -> None:
        """Start the broker and wait until it answers; it keeps its port from then on."""
        while self._process is None:
            if self._answers():
                self._started = True
            else:
                assert not self._started, f"Kafka ended: {self._last_words()}"
                self._process = None
                self._choose_ports()

    def _last_words(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")[-2000:]

    def _answers(self) -> bool:
        """Start it; False when somebody else took a port that was free."""
        log = self._folder / "server.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [self._java, "-Xmx256m", *_FAST, "-cp", _jars(self._java), "kafka.Kafka",
                 self._settings],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 240
        while self._process.poll() is None:
            try:
                self._admin().list_topics(timeout=5)
            except KafkaException:
                assert time.monotonic() < deadline, f"Kafka does not answer: {self._last_words()}"
            else:
                return True
        assert "already in use" in self._last_words(), f"Kafka ended: {self._last_words()}"
        return False

    def kill(self) -> None:
        """Stops the broker without a clean shutdown."""
        self.stop()

    def stop(self) -> None:
        if self._process is not None:
            # A controlled shutdown without another broker to hand over to can take minutes.
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def create_topic(self, name: str, partitions: int = 1) -> None:
        admin = self._admin()  # has to outlive what it promises
        for created in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            created.result(timeout=120)

    def delete_topic(self, name: str) -> None:
        admin = self._admin()
        for deleted in admin.delete_topics([name]).values():
            deleted.result(timeout=120)

    def delete_messages(self, topic: str, before: int) -> None:
        """Deletes messages of the first partition, as retention does."""
        admin = self._admin()
        for deleted in admin.delete_records([TopicPartition(topic, 0, before)]).values():
            deleted.result(timeout=120)

    def topics(self) -> set[str]:
        return set(self._admin().list_topics(timeout=60).topics)

    def send(self, topic: str, *messages: tuple[str | None, str | None]) -> None:
        """Keys and values, to the first partition."""
        producer = Producer({"bootstrap.servers": self.address, **self.client})
        for key, value in messages:
            producer.produce(topic, key=key, value=value, partition=0)
        assert producer.flush(120) == 0

    def ends(self, topic: str, isolation: str = "read_committed") -> dict[int, int]:
        """The offset after the last record of each partition. A new topic, or a broker that has
        just started, may have no leaders yet: it waits for them."""
        consumer = Consumer({
            "bootstrap.servers": self.address, "group.id": "ends", "isolation.level": isolation,
            **self.client,
        })  # fmt: skip
        deadline = time.monotonic() + 120
        ends: dict[int, int] = {}
        try:
            unknown = list(consumer.list_topics(topic, timeout=60).topics[topic].partitions)
            while unknown:
                place = TopicPartition(topic, unknown[-1])
                try:
                    ends[place.partition] = consumer.get_watermark_offsets(place, timeout=60)[1]
                    unknown.pop()
                except KafkaException as error:
                    no_leader = error.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION
                    if not no_leader or time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
            return ends
        finally:
            consumer.close()

    def committed(self, group: str, topic: str) -> int:
        """The committed offset of the group in the first partition."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group, **self.client})
        try:
            return consumer.committed([TopicPartition(topic, 0)], timeout=60)[0].offset
        finally:
            consumer.close()

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.address, **self.client})


class SecuredKafka(KafkaServer):
    """One that wants TLS and a login; `login` is Java's, `ca` the file of its certificate."""

    user, password = "writer", "a=b;c"

    def __init__(self) -> None:
        self.login = _LOGIN.format(user=self.user, password=self.password)
        super().__init__()
        self.client |= {
            "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": self.user,
            "sasl.password": self.password, "ssl.ca.location": str(self.ca),
        }  # fmt: skip

    @property
    def ca(self) -> Path:
        return self._folder / "ca.pem"

    def _text(self, controller: int, listener: str = "SASL_SSL") -> str:
        if not self.ca.exists():
            key = self._folder / "key.pem"
            subprocess.run(
                ["openssl", "req", "-new", "-x509", "-nodes", "-days", "2", "-subj", "/CN=kafka",
                 "-addext", "subjectAltName=IP:127.0.0.1", "-newkey", "rsa:2048",
                 "-keyout", key, "-out", self.ca],
                check=True, capture_output=True,
            )  # fmt: skip
            (self._folder / "server.pem").write_text(key.read_text() + self.ca.read_text())
        secured = _SECURED.format(
            login=self.login, user=self.user, password=self.password, folder=self._folder
        )
        return super()._text(controller, listener) + secured


class RotatingKafka(SecuredKafka):
    """One that also has the user `rotating`, who logs in with SCRAM and whose password changes."""

    rotating = "rotating"

    def _text(self, controller: int, listener: str = "SASL_SSL") -> str:
        text = super()._text(controller, listener)
        plain = "sasl.enabled.mechanisms=PLAIN\n"
        assert plain in text
        return text.replace(plain, f"{plain.strip()},SCRAM-SHA-256\n{_SCRAM}")

    def set_password(self, password: str) -> None:
        """Give the user another one, which new connections need."""
        admin = self._admin()  # has to outlive what it promises
        kind = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        changed = UserScramCredentialUpsertion(self.rotating, kind, password.encode())
        for future in admin.alter_user_scram_credentials([changed]).values():
            future.result(timeout=120)

    def restart(self) -> None:
        """Every connection is cut."""
        self.stop()
        self.start()


def _jars(java: Path) -> str:
    """The broker's class path."""
    return f"{fetch_jars(java, _MODULE)}/*"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for unbound in sockets:
            unbound.bind(("127.0.0.1", 0))
        return [connection.getsockname()[1] for connection in sockets]
    finally:
        for bound in sockets:
            bound.close()
