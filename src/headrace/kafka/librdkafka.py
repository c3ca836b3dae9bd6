"""A producer over the public C interface of librdkafka, which comes with `confluent-kafka`.

The package's own producer takes each record in one Python call. This one gives kernels the
addresses that they need to produce whole columns (`headrace.kafka.messages`). Its methods release
the GIL while they wait, and run callbacks only in the thread that calls them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Any

from headrace.connect.deadline import Deadline
from headrace.kafka.client import load_client, refused_setting
from headrace.kafka.login import REFUSED_LOGIN, Login
from headrace.kafka.settings import Purpose

_PRODUCER = 0
_CONFIG_OK = 0
_TEXT_BYTES = 512
_PURGE_ALL = 1 | 2
_NO_ERROR = 0
_FATAL = -150
_DESTROYED = -197
_PURGED = (-151, -152)
_MIN_SECONDS = 0.1
_CLOSE_SECONDS = 1.0
OFFSET_OF_ERROR, _OFFSET_OF_TOPIC = 0, 8
"""Offsets in rd_kafka_message_t, in bytes."""

_OnError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_OnDelivery = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class KafkaFailure(Exception):
    """An error of librdkafka. `code` is its number (negative: from librdkafka, not from the
    broker), `text` its message. `fatal`: the producer cannot be used any more. `retriable`: the
    same call may be made again. `needs_abort`: the transaction can only be aborted. `topic` is the
    topic of a record that was not delivered, if it is known."""

    def __init__(
        self,
        code: int,
        text: str,
        *,
        fatal: bool = False,
        retriable: bool = False,
        needs_abort: bool = False,
        topic: str = "",
    ) -> None:
        super().__init__(f"{text} ({code})")
        self.code, self.text, self.topic = code, text, topic
        self.fatal, self.retriable, self.needs_abort = fatal, retriable, needs_abort


class ProducerClosed(KafkaFailure):
    """Raised when another thread has closed the producer; its user must stop."""

    def __init__(self) -> None:
        super().__init__(_DESTROYED, "the producer is closed", fatal=True)


class NativeProducer:
    """Wrapper of an `rd_kafka_t`. Methods raise KafkaFailure, also for the first failed delivery.

    One thread uses it, and any thread may close it: `close` waits for the running call, and every
    later call raises ProducerClosed.

    `on_error` gets code and text of errors from which librdkafka recovers by itself, such as
    brokers that do not answer, while `poll` or `flush` runs.
    """

    def __init__(
        self, purpose: Purpose, settings: Mapping[str, str], on_error: Callable[[int, str], None]
    ) -> None:
        """Create the producer, which connects by itself. Raises HeadraceError(".no_kafka_client"),
        (".kafka_setting") or ("config.secret_unreadable")."""
        self._library = library = _library(purpose)
        self._login, self._on_error = Login(settings), on_error
        settings = self._login.used
        self._topics: dict[str, int] = {}
        self._failure: KafkaFailure | None = None
        self._guard = threading.RLock()  # reentrant, because callbacks run during a call
        self._is_closed = self._in_transaction = False
        self._callbacks = (
            _OnError(
                lambda _rk, code, text, _opaque: self._on_client_error(code, (text or b"").decode())
            ),
            _OnDelivery(lambda rk, message, _opaque: self._delivered(rk, message)),
        )
        conf = library.rd_kafka_conf_new()
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        for name, value in settings.items():
            answer = library.rd_kafka_conf_set(
                conf, name.encode(), value.encode(), text, _TEXT_BYTES
            )
            if answer != _CONFIG_OK:
                library.rd_kafka_conf_destroy(conf)
                raise refused_setting(purpose, settings, text.value.decode())
        library.rd_kafka_conf_set_log_cb(conf, None)
        library.rd_kafka_conf_set_error_cb(conf, self._callbacks[0])
        library.rd_kafka_conf_set_dr_msg_cb(conf, self._callbacks[1])
        self._handle: int = library.rd_kafka_new(_PRODUCER, conf, text, _TEXT_BYTES) or 0
        if not self._handle:
            library.rd_kafka_conf_destroy(conf)
            raise refused_setting(purpose, settings, text.value.decode())

    def _on_client_error(self, code: int, text: str) -> None:
        """Pass on an error from which librdkafka recovers by itself; a refused login is first tried
        again with a new password, if it has one."""
        if code != REFUSED_LOGIN or not self._login.renew(self._log_in):
            self._on_error(code, text)

    def _log_in(self, user: str, password: str) -> None:
        with suppress(KafkaFailure), self.lent() as producer:
            set_credentials = self._library.rd_kafka_sasl_set_credentials
            self._check(set_credentials(producer, user.encode(), password.encode()))

    @contextmanager
    def lent(self) -> Iterator[int]:
        """Yield the address of the `rd_kafka_t`, which is not destroyed inside the block. Raises
        ProducerClosed."""
        with self._guard:
            if self._is_closed:
                raise ProducerClosed
            yield self._handle

    @property
    def produce_address(self) -> int:
        """The address of `rd_kafka_produceva`."""
        return ctypes.cast(self._library.rd_kafka_produceva, ctypes.c_void_p).value or 0

    def topic(self, name: str) -> int:
        """Return the address of a topic's handle, valid until `close`."""
        with self.lent() as producer:
            if name not in self._topics:
                handle = self._library.rd_kafka_topic_new(producer, name.encode(), None)
                if not handle:
                    raise KafkaFailure(-186, f"the topic name {name!r} cannot be", topic=name)
                self._topics[name] = handle
            return self._topics[name]

    def take_failure(self, error: int) -> KafkaFailure:
        """Return the `rd_kafka_error_t` at an address as KafkaFailure, and free it."""
        library = self._library
        failure = KafkaFailure(
            int(library.rd_kafka_error_code(error)),
            (library.rd_kafka_error_string(error) or b"").decode(),
            fatal=bool(library.rd_kafka_error_is_fatal(error)),
            retriable=bool(library.rd_kafka_error_is_retriable(error)),
            needs_abort=bool(library.rd_kafka_error_txn_requires_abort(error)),
        )
        library.rd_kafka_error_destroy(error)
        return failure

    def init_transactions(self, seconds: float) -> None:
        """Fence the producers with the same transactional id, and complete their transactions.
        Raises KafkaFailure after about `seconds` without an answer; a further call continues."""
        deadline = Deadline(seconds)
        with self.lent() as producer:
            # A request without a connection waits for the next tick of a timer of 500 ms.
            cluster = self._library.rd_kafka_clusterid(producer, _ms(seconds))
            if cluster:
                self._library.rd_kafka_mem_free(producer, cluster)
            rest = max(deadline.remaining(), _MIN_SECONDS)
            self._check(self._library.rd_kafka_init_transactions(producer, _ms(rest)))

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        with self.lent() as producer:
            self._failure = None
            self._check(self._library.rd_kafka_begin_transaction(producer))
            self._in_transaction = True

    def commit_transaction(self, seconds: float) -> None:
        """Wait for every delivery, and commit the transaction."""
        with self.lent() as producer:
            try:
                self._check(self._library.rd_kafka_commit_transaction(producer, _ms(seconds)))
                self._in_transaction = False
            except KafkaFailure as failure:
                self._library.rd_kafka_poll(producer, 0)
                delivery = self._failure
                if failure.needs_abort and delivery is not None and delivery.code not in _PURGED:
                    # The failed delivery names the record and the cause.
                    raise KafkaFailure(
                        delivery.code, delivery.text, needs_abort=True, topic=delivery.topic
                    ) from None
                raise

    def abort_transaction(self, seconds: float) -> None:
        """Abort the transaction."""
        with self.lent() as producer:
            self._abort(producer, seconds)

    def poll(self, seconds: float) -> None:
        """Serve callbacks. Raises the KafkaFailure of a failed delivery."""
        with self.lent() as producer:
            self._library.rd_kafka_poll(producer, _ms(seconds))
            self.check_deliveries()

    def flush(self, seconds: float) -> int:
        """Wait for deliveries; return how many records still wait. Raises as `poll`."""
        with self.lent() as producer:
            self._library.rd_kafka_flush(producer, _ms(seconds))
            self.check_deliveries()
            return int(self._library.rd_kafka_outq_len(producer))

    def check_deliveries(self) -> None:
        """Raise the KafkaFailure of the first failed delivery, if there is one."""
        if self._failure is not None:
            raise self._failure

    def fatal(self) -> KafkaFailure | None:
        """Return the error after which this producer cannot be used any more, or None."""
        with self.lent() as producer:
            return self._fatal(producer)

    def close(self) -> None:
        """Abort the open transaction, which takes at most about a second, purge unsent records,
        and close every connection. Never raises."""
        # The thread that uses the producer can make no further call from here on.
        self._is_closed = True
        with self._guard:
            if not self._handle:
                return
            handle, self._handle = self._handle, 0
            if self._in_transaction:
                # librdkafka ends the process ("Assertion `rk->rk_eos.txn_req_cnt > 0' failed") if
                # it is destroyed while it adds a partition to the transaction. One that is being
                # aborted adds none, whether or not a broker answers.
                with suppress(KafkaFailure):
                    self._abort(handle, _CLOSE_SECONDS)
            self._library.rd_kafka_purge(handle, _PURGE_ALL)
            for topic in self._topics.values():
                self._library.rd_kafka_topic_destroy(topic)
            self._topics.clear()
            self._library.rd_kafka_destroy(handle)

    def _abort(self, producer: int, seconds: float) -> None:
        self._check(self._library.rd_kafka_abort_transaction(producer, _ms(seconds)))
        self._in_transaction = False

    def _fatal(self, producer: int) -> KafkaFailure | None:
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        code = self._library.rd_kafka_fatal_error(producer, text, _TEXT_BYTES)
        return KafkaFailure(code, text.value.decode(), fatal=True) if code else None

    def _check(self, error: int | None) -> None:
        if error:
            raise self.take_failure(error)

    def _delivered(self, producer: int, message: int) -> None:
        code = ctypes.c_int32.from_address(message + OFFSET_OF_ERROR).value
        # A message is purged because of another failure, but may be reported before that.
        if code == _NO_ERROR or (self._failure is not None and self._failure.code not in _PURGED):
            return
        library = self._library
        topic = ctypes.c_void_p.from_address(message + _OFFSET_OF_TOPIC).value
        name = library.rd_kafka_topic_name(topic) if topic else b""
        failure = KafkaFailure(
            code, (library.rd_kafka_err2str(code) or b"").decode(), topic=(name or b"").decode()
        )
        if code == _FATAL:
            failure = self._fatal(producer) or failure
        self._failure = failure


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


@cache
def _loaded() -> Any:
    # The symbols of the package's extension module include those of the librdkafka it links.
    library = ctypes.CDLL(str(import_module("confluent_kafka.cimpl").__file__))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    size = ctypes.c_size_t
    functions: dict[str, tuple[Any, list[Any]]] = {
        "rd_kafka_conf_new": (pointer, []),
        "rd_kafka_conf_destroy": (None, [pointer]),
        "rd_kafka_conf_set": (number, [pointer, text, text, text, size]),
        "rd_kafka_conf_set_log_cb": (None, [pointer, pointer]),
        "rd_kafka_conf_set_error_cb": (None, [pointer, _OnError]),
        "rd_kafka_conf_set_dr_msg_cb": (None, [pointer, _OnDelivery]),
        "rd_kafka_new": (pointer, [number, pointer, text, size]),
        "rd_kafka_destroy": (None, [pointer]),
        "rd_kafka_topic_new": (pointer, [pointer, text, pointer]),
        "rd_kafka_topic_destroy": (None, [pointer]),
        "rd_kafka_topic_name": (text, [pointer]),
        "rd_kafka_init_transactions": (pointer, [pointer, number]),
        "rd_kafka_begin_transaction": (pointer, [pointer]),
        "rd_kafka_commit_transaction": (pointer, [pointer, number]),
        "rd_kafka_abort_transaction": (pointer, [pointer, number]),
        "rd_kafka_poll": (number, [pointer, number]),
        "rd_kafka_flush": (number, [pointer, number]),
        "rd_kafka_outq_len": (number, [pointer]),
        "rd_kafka_purge": (number, [pointer, number]),
        "rd_kafka_fatal_error": (number, [pointer, text, size]),
        "rd_kafka_err2str": (text, [number]),
        "rd_kafka_error_code": (number, [pointer]),
        "rd_kafka_error_string": (text, [pointer]),
        "rd_kafka_error_is_fatal": (number, [pointer]),
        "rd_kafka_error_is_retriable": (number, [pointer]),
        "rd_kafka_error_txn_requires_abort": (number, [pointer]),
        "rd_kafka_error_destroy": (None, [pointer]),
        "rd_kafka_sasl_set_credentials": (pointer, [pointer, text, text]),
        "rd_kafka_clusterid": (pointer, [pointer, number]),
        "rd_kafka_mem_free": (None, [pointer, pointer]),
        "rd_kafka_produceva": (pointer, [pointer, pointer, size]),
    }
    for name, (answer, arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = answer, arguments
    return library


def _library(purpose: Purpose) -> Any:
    load_client(purpose)
    try:
        return _loaded()
    except (OSError, AttributeError) as error:
        raise purpose.error(
            "no_kafka_library",
            f"The library librdkafka of the package confluent-kafka cannot be used ({error})",
            "Install confluent-kafka as a wheel: pip install --only-binary :all: confluent-kafka",
        ) from None
