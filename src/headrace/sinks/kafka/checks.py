"""Checks that Kafka is ready for the sink: findings with remedies; writes nothing."""

from __future__ import annotations

from headrace.errors import HeadraceError
from headrace.findings import Findings, counted
from headrace.kafka.client import ANSWER_SECONDS, Complaints, load_client, open_admin
from headrace.kafka.librdkafka import KafkaFailure, NativeProducer
from headrace.sinks.kafka.bookkeeping import Bookkeeping
from headrace.sinks.kafka.failures import in_our_words
from headrace.sinks.kafka.options import SINK, KafkaOptions

_CHECKER = "check"
_REFUSAL_SECONDS = 0.5
"""Seconds within which a refusal of the login or of the certificate usually arrives."""


def check(options: KafkaOptions) -> Findings:
    """Check settings, brokers, transactions and the bookkeeping topic."""
    findings = Findings()

    def look() -> None:
        _producer(findings, options)
        if options.is_transactional:
            _bookkeeping(findings, options)

    findings.guard(lambda: _brokers(findings, options))
    if all(finding.level == "ok" for finding in findings):
        findings.guard(look)
    return findings


def _brokers(findings: Findings, options: KafkaOptions) -> None:
    kafka = load_client(SINK)
    complaints = Complaints()
    # The producer has more settings than the admin client.
    NativeProducer(SINK, dict(options.settings), lambda *_: None).close()
    admin = open_admin(SINK, options.connection, on_error=complaints)
    for seconds in (_REFUSAL_SECONDS, ANSWER_SECONDS):
        try:
            cluster = admin.list_topics(timeout=seconds)
            break
        except kafka.KafkaException as error:
            admin.poll(0)
            if complaints.is_refusal or seconds == ANSWER_SECONDS:
                raise complaints.explain(SINK, options.brokers, error.args[0]) from None
    brokers = len(cluster.brokers)
    findings.add(
        "kafka.reachable",
        "ok",
        f"Kafka at {options.brokers} answers ({counted(brokers, 'broker')})",
    )


def _producer(findings: Findings, options: KafkaOptions) -> None:
    """Check transactions with a separate transactional id: that of a slice would fence a run."""
    if not options.is_transactional:
        findings.add(
            "kafka.delivery", "warning",
            "delivery is at-least-once: a restart repeats unfinished micro-batches",
            "Leave headrace.sink.kafka.delivery out for exactly-once.",
        )  # fmt: skip
        return
    settings = {**options.settings, "transactional.id": options.transactional_id(_CHECKER)}
    producer = NativeProducer(SINK, settings, lambda *_: None)
    try:
        producer.init_transactions(2 * ANSWER_SECONDS)
    except KafkaFailure as failure:
        raise in_our_words(failure, options) from None
    finally:
        producer.close()
    findings.add(
        "kafka.transactions", "ok",
        f"Transactions work; consumers need isolation.level=read_committed "
        f"(ids headrace-{options.name}-*)",
    )  # fmt: skip


def _bookkeeping(findings: Findings, options: KafkaOptions) -> None:
    bookkeeping = Bookkeeping(options)
    partitions = bookkeeping.partitions()
    if not partitions:
        findings.add("kafka.bookkeeping", "ok", f"The topic {options.bookkeeping} will be created")
        return
    try:
        bookkeeping.check_policy()
    except HeadraceError as error:
        findings.add_error(error)
        return
    findings.add(
        "kafka.bookkeeping", "ok",
        f"The topic {options.bookkeeping} is compacted and has {partitions} partitions",
    )  # fmt: skip
