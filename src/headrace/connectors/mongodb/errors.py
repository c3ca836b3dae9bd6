"""The errors of MongoDB and its driver, in plain words."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from pymongo.errors import (
    ConfigurationError,
    ConnectionFailure,
    InvalidURI,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
)

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.properties.modes import CaptureScope
from headrace.errors import HeadraceError


class Wording(NamedTuple):
    """The wording of an error. `what` follows "MongoDB at HOSTS" and precedes the server's
    message."""

    code: str
    what: str
    remedy: str
    retriable: bool = False


HISTORY_LOST = Wording(
    "history_lost",
    "has no more changes from this position on",
    "Start with snapshot.mode=when_needed, which reads the collections again, or with a new "
    "checkpoint; and let the oplog hold more: db.adminCommand({replSetResizeOplog: 1, "
    "minRetentionHours: 72}) in mongosh.",
)
NOT_A_REPLICA_SET = Wording(
    "not_a_replica_set",
    "is a single server, which has no change streams",
    "Start mongod with --replSet rs0, run rs.initiate() in mongosh once, and add ?replicaSet=rs0 "
    "to mongodb.connection.string.",
)
NOT_INITIATED = Wording(
    "not_initiated",
    "is a replica set that was never initiated",
    "Run rs.initiate() in mongosh once.",
)
OTHER_REPLICA_SET = Wording(
    "other_replica_set",
    "belongs to a replica set of another name",
    "Correct replicaSet= in mongodb.connection.string.",
)
NO_REPLICA_SET = Wording(
    "no_replica_set",
    "is a mongos, and belongs to no replica set",
    "Leave replicaSet= out of mongodb.connection.string.",
)
ELECTION = Wording("election", "has no primary at the moment", "headrace tries again.", True)
UNREACHABLE = Wording(
    "unreachable",
    "cannot be reached",
    "Check the hosts of mongodb.connection.string, and that the servers run.",
    True,
)
NO_FITTING_SERVER = Wording(
    "unreachable",
    "answers, but none of the replica set's servers can be used from here",
    "Check that rs.conf() in mongosh names hosts that this machine can reach, and readPreference "
    "of mongodb.connection.string.",
    True,
)
_TOO_OLD = Wording(
    "server_too_old",
    "is older than the installed driver supports",
    "Upgrade the server to 4.4 or later, or install an older pymongo.",
)
_LOGIN = Wording(
    "authentication",
    "refuses the login",
    "Check user, password and authSource of mongodb.connection.string, or mongodb.user, "
    "mongodb.password and mongodb.authsource.",
)
_NO_LOGIN = Wording(
    "authentication",
    "asks for a login, and no user is configured",
    "Set mongodb.user and mongodb.password.",
)
_NO_PRIVILEGE = Wording("no_privilege", "does not permit the user to do this", "")
_CURSOR = Wording(
    "cursor_lost", "closed a cursor", "headrace opens it again at the same position.", True
)
_CONNECTION = Wording("connection_lost", "closed the connection", "headrace tries again.", True)
_TIMEOUT = Wording("timeout", "took too long", "headrace tries again.", True)
_NO_IMAGE = Wording(
    "no_image",
    "has no image of a document that a change needs",
    'db.runCommand({collMod: "COLLECTION", changeStreamPreAndPostImages: {enabled: true}}) in '
    "mongosh, or capture without images (capture.mode).",
)
_NO_IMAGES = Wording(
    "no_images",
    "keeps no images of documents, which capture.mode or capture.mode.full.update.type asks for",
    "Use MongoDB 6 or later, or capture.mode=change_streams_update_full with "
    "capture.mode.full.update.type=lookup.",
)
_NO_NAMESPACE = Wording(
    "no_namespace",
    "has no change stream for this name",
    "Check capture.target: admin, local, config and views have none.",
)
_BAD_TOKEN = Wording(
    "bad_resume_token",
    "cannot read the stored resume token",
    "Start with a new checkpoint, or with snapshot.mode=when_needed.",
)
_PIPELINE = Wording(
    "bad_pipeline",
    "refuses the change stream's pipeline",
    "Correct cursor.pipeline: a change stream takes $match, $project, $set, $unset, $replaceRoot "
    "and $redact.",
)
UNSUPPORTED = Wording(
    "unsupported_server",
    "does not behave as MongoDB does",
    "Capture from MongoDB 4.4 or later, or from Atlas. Amazon DocumentDB, Azure Cosmos DB and "
    "other servers of the same protocol are not supported.",
)
_ATLAS_FILTER = Wording(
    "atlas_filter",
    "is a Free or a Flex cluster of Atlas, which does not accept the change stream's filter of "
    "names",
    "Set capture.scope and capture.target to one database or collection, and no lists; or use a "
    "dedicated cluster (M10 and larger).",
)
_TLS = Wording(
    "tls",
    "cannot be reached over TLS",
    "Check mongodb.ssl.*, or the tls options of mongodb.connection.string: whether the server "
    "speaks TLS, who signed its certificate, and for which host.",
)

_BY_CODE = {
    **dict.fromkeys((11, 18, 334), _LOGIN),
    13: _NO_PRIVILEGE,
    40573: NOT_A_REPLICA_SET,
    **dict.fromkeys((286, 280, 260), HISTORY_LOST),
    10334: Wording(
        "event_too_large",
        "cannot send an event of more than 16 MB",
        "Set cursor.oversize.handling.mode=split (MongoDB 6.0.9 and 7), or skip with "
        "cursor.oversize.skip.threshold; or capture without images (capture.mode).",
    ),
    47: _NO_IMAGE,
    40324: Wording(
        "unknown_stage",
        "does not know a stage of the change stream's pipeline",
        "cursor.oversize.handling.mode=split needs MongoDB 6.0.9 or 7; the other stages are those "
        "of cursor.pipeline.",
    ),
    51091: Wording(
        "bad_expression",
        "does not understand an expression of the include and exclude lists",
        "Use only syntax that Java and PCRE share, or set filters.match.mode=literal.",
    ),
    **dict.fromkeys((2, 9, 20), _PIPELINE),
    **dict.fromkeys((26, 73, 166), _NO_NAMESPACE),
    **dict.fromkeys((50, 262), _TIMEOUT),
    **dict.fromkeys((189, 10107, 11602, 13435, 13436, 133, 10058), ELECTION),
    **dict.fromkeys((43, 136, 175, 234, 237, 11601), _CURSOR),
    **dict.fromkeys((6, 7, 63, 89, 91, 150, 9001, 11600, 13388), _CONNECTION),
}
# One code stands for several errors. The first text that the message contains decides.
_BY_TEXT = (
    (
        "whose _id field",
        Wording(
            "pipeline_drops_id",
            "cannot continue, because cursor.pipeline changes or leaves out _id, the resume token",
            "Leave _id, ns, operationType and documentKey in every event.",
        ),
    ),
    ("resume token string", _BAD_TOKEN),
    ("empty resume token", _BAD_TOKEN),
    ("KeyString format error", _BAD_TOKEN),
    ("bad auth", _LOGIN),  # Atlas
    ("Error validating $match value for change streams", _ATLAS_FILTER),
    # Amazon DocumentDB's message.
    ("$changeStream.startAfter' is an unknown field", UNSUPPORTED),
    ("Feature not supported: ", UNSUPPORTED),
    ("Aggregation stage not supported: ", UNSUPPORTED),
    ("requires authentication", _LOGIN),
    ("fullDocumentBeforeChange' is an unknown field", _NO_IMAGES),
    ("'whenAvailable' for field", _NO_IMAGES),
    ("pre-image", _NO_IMAGE),
    ("post-image", _NO_IMAGE),
)
_RESUMABLE = "ResumableChangeStreamError"
_READ_ALL = '"readAnyDatabase"'
_ATLAS_HOSTS = (".mongodb.net", ".mongodbgov.net")
_SHELL_ROLE = re.compile(r'\{role: "(\w+)", db: "(.*)"\}')
_LONGEST = 300


def translate(error: PyMongoError, config: MongoConfig, doing: str = "") -> HeadraceError:
    """Return the HeadraceError of a driver's error; it never holds a password. `doing` is the
    attempt, "Reading the change stream" for example."""
    raw = _without_surroundings(_message(error))
    text = answer_text(_message(error), config)
    if isinstance(error, ConfigurationError) and "wire version" in raw:
        return answered(_TOO_OLD, config, text, doing)
    if isinstance(error, ConfigurationError) and "Sessions are not supported" in raw:
        # The driver's message while it knows no data-bearing member.
        return answered(ELECTION, config, text, doing)
    if isinstance(error, ConfigurationError):
        kind = "cannot be read" if isinstance(error, InvalidURI) else "is refused by the driver"
        return HeadraceError(
            "mongodb.connection_string",
            f"mongodb.connection.string {kind}: {text}",
            "Correct it; user and password are percent-encoded.",
        )
    answer = _answer(error, raw)
    if answer is _LOGIN and not _has_login(config):
        return answered(_NO_LOGIN, config, "", doing)
    if answer is not None:
        return answered(answer, config, text, doing)
    number = f" (code {error.code})" if isinstance(error, OperationFailure) else ""
    return HeadraceError(
        "mongodb.command_failed",
        f"{doing or 'A command'} failed: {place(config)} answers: {text}{number}",
        "Check the server's log.",
        retriable=isinstance(error, ConnectionFailure),
    )


def answered(answer: Wording, config: MongoConfig, text: str, doing: str = "") -> HeadraceError:
    """Return the error of a Wording, with the server's message."""
    message = f"{place(config)} {answer.what}: {text}" if text else f"{place(config)} {answer.what}"
    return HeadraceError(
        f"mongodb.{answer.code}",
        f"{doing}: {message}" if doing else message,
        answer.remedy or grant(config),
        retriable=answer.retriable,
    )


def place(config: MongoConfig) -> str:
    """The servers, for messages."""
    return f"MongoDB at {config.mongodb_connection_string.place}"


def grant(config: MongoConfig) -> str:
    """The commands of mongosh that permit the user to read what is captured."""
    database, _ = config.target()
    if config.capture_scope is not CaptureScope.DEPLOYMENT:
        return f"{grant_roles(config, role_on(database or ''))}{in_shell(config)}."
    only = config.only_database() or "DATABASE"
    return (
        f"{grant_roles(config, _READ_ALL)}{in_shell(config)}. Less is enough for one database, "
        f"with capture.scope=database and capture.target={only}: "
        f"{grant_roles(config, role_on(only))}"
    )


def role_on(database: str, role: str = "read") -> str:
    """A built-in role on one database, in mongosh's syntax."""
    return f"{{role: {json.dumps(role)}, db: {json.dumps(database)}}}"


def is_atlas(config: MongoConfig) -> bool:
    """Whether the connection string leads to Atlas, by the names of its hosts."""
    hosts = config.mongodb_connection_string.hosts
    return any(host.partition(":")[0].lower().endswith(_ATLAS_HOSTS) for host in hosts)


def in_shell(config: MongoConfig) -> str:
    """The suffix of the command of `grant_roles`: " in mongosh", empty for Atlas."""
    return "" if is_atlas(config) else " in mongosh"


def grant_roles(config: MongoConfig, *roles: str) -> str:
    """The mongosh command that grants roles, given in mongosh's syntax, to the configured user; for
    Atlas, whose users mongosh cannot change, the command of its CLI."""
    string = config.mongodb_connection_string
    user, database = config.mongodb_user, config.mongodb_authsource
    if string.has_user:
        user, database = string.user, string.database or "admin"
    if is_atlas(config):
        named = [_SHELL_ROLE.sub(r"\1@\2", role).strip('"') for role in roles]
        named = [role if "@" in role else f"{role}@admin" for role in named]
        return (
            "Give the user of Atlas, in addition to its roles, "
            f"{' and '.join(named)}: atlas dbusers update {user or 'USER'} --role "
            f"{','.join(named)},…"
        )
    database = string.options.get("authsource", database)
    return (
        f"db.getSiblingDB({json.dumps(database)}).grantRolesToUser("
        f"{json.dumps(user or 'USER')}, [{', '.join(roles)}])"
    )


def answer_text(text: str, config: MongoConfig) -> str:
    """The message of the server or driver without hidden values, shortened to a line or two."""
    text = _without_surroundings(config.hidden.in_error(text))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _has_login(config: MongoConfig) -> bool:
    string = config.mongodb_connection_string
    login = string.has_user or config.mongodb_user or config.mongodb_password
    return bool(login) or "authmechanism" in string.options


def _answer(error: PyMongoError, text: str) -> Wording | None:
    for part, answer in _BY_TEXT:
        if part in text:
            return answer
    if isinstance(error, OperationFailure):
        if error.code in _BY_CODE:
            return _BY_CODE[error.code]
        return _CURSOR if error.has_error_label(_RESUMABLE) else None
    if isinstance(error, NotPrimaryError):
        return ELECTION
    if isinstance(error, ConnectionFailure):
        if re.search("SSL|certificate", text):
            return _TLS
        return UNREACHABLE if isinstance(error, ServerSelectionTimeoutError) else _CONNECTION
    return None


def _message(error: PyMongoError) -> str:
    if isinstance(error, OperationFailure) and error.details:
        return str(error.details.get("errmsg") or error)
    return str(error)


def _without_surroundings(text: str) -> str:
    # Cut the driver's description of the cluster, which follows.
    text = text.partition(", Timeout: ")[0].partition(" (configured timeouts")[0]
    text = " ".join(text.removeprefix("Executor error during getMore :: caused by :: ").split())
    # Keep only the name of the command.
    text = re.sub(r"(to execute command) \{ (\w+): .*", r"\1 \2", text)
    # Cut the fields of the session and the cluster at the end of every command.
    return re.sub(r", (?:cursor: \{\}|lsid: ).*\}", " … }", text)
