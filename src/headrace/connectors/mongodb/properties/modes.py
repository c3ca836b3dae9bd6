"""The enumerations of the MongoDB connector. Values are Debezium's texts."""

from __future__ import annotations

from enum import StrEnum


class CaptureMode(StrEnum):
    """The documents that change events contain in addition to the change."""

    CHANGE_STREAMS = "change_streams"
    UPDATE_FULL = "change_streams_update_full"
    PRE_IMAGE = "change_streams_with_pre_image"
    UPDATE_FULL_PRE_IMAGE = "change_streams_update_full_with_pre_image"

    @property
    def full_update(self) -> bool:
        """Whether an update comes with the document after it."""
        return self in (CaptureMode.UPDATE_FULL, CaptureMode.UPDATE_FULL_PRE_IMAGE)

    @property
    def pre_image(self) -> bool:
        """Whether updates, replacements and deletes come with the document before them."""
        return self in (CaptureMode.PRE_IMAGE, CaptureMode.UPDATE_FULL_PRE_IMAGE)


class FullUpdateType(StrEnum):
    """The source of the document in an update event."""

    LOOKUP = "lookup"
    POST_IMAGE = "post_image"


class CaptureScope(StrEnum):
    """The scope of the change stream."""

    DEPLOYMENT = "deployment"
    DATABASE = "database"
    COLLECTION = "collection"


class MatchMode(StrEnum):
    """The interpretation of include and exclude lists."""

    REGEX = "regex"
    LITERAL = "literal"


class PipelineOrder(StrEnum):
    """The place of the stages of cursor.pipeline."""

    INTERNAL_FIRST = "internal_first"
    USER_FIRST = "user_first"
    USER_ONLY = "user_only"


class OversizeHandling(StrEnum):
    """The handling of events that exceed the maximum size of a BSON document."""

    FAIL = "fail"
    SKIP = "skip"
    SPLIT = "split"


class JsonMode(StrEnum):
    """The dialects of Extended JSON in events."""

    LEGACY = "legacy"
    STRICT = "strict"
    EXTENDED = "extended"
    RELAXED = "relaxed"


class KeyFormat(StrEnum):
    """The dialects of Extended JSON in keys."""

    RELAXED = "relaxed"
    SEED_V1 = "seed_v1"
