"""The enumerations of the MongoDB connector. Values are Debezium's texts."""

from __future__ import annotations

from enum import StrEnum


class CaptureMode(StrEnum):
    """What change events carry beside the change."""

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
    """Where the document of an update comes from."""

    LOOKUP = "lookup"
    POST_IMAGE = "post_image"


class CaptureScope(StrEnum):
    """What the change stream is opened on."""

    DEPLOYMENT = "deployment"
    DATABASE = "database"
    COLLECTION = "collection"


class MatchMode(StrEnum):
    """How include and exclude lists are read."""

    REGEX = "regex"
    LITERAL = "literal"


class PipelineOrder(StrEnum):
    """The place of the stages of cursor.pipeline."""

    INTERNAL_FIRST = "internal_first"
    USER_FIRST = "user_first"
    USER_ONLY = "user_only"


class OversizeHandling(StrEnum):
    """What becomes of events that are larger than a BSON document may be."""

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
    """How keys are spelled."""

    RELAXED = "relaxed"
    SEED_V1 = "seed_v1"
