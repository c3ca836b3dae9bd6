"""Stages of `cursor.pipeline` that would leave events without what they need are refused."""

from __future__ import annotations

import pytest

from headrace.connectors.mongodb.properties.stages import parse_stages


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '[{"$match": {"operationType": "insert"}}]',
        "[{$match: {'fullDocument.at': {$gt: ISODate('2024-05-01')}}}]",
        '[{"$project": {"fullDocument.secret": 0}}]',
        '[{"$project": {"ns": 1, "operationType": 1, "documentKey": true, "fullDocument": 1}}]',
        '[{"$unset": ["fullDocument.secret", "updateDescription"]}]',
        '[{"$set": {"fullDocument.seen": true}}]',
        '[{"$replaceRoot": {"newRoot": {"$mergeObjects": ["$$ROOT", {"a": 1}]}}}]',
        '[{"$replaceWith": "$event"}]',
        '[{"$replaceWith": {"_id": "$_id", "ns": "$ns", "operationType": "insert",'
        ' "documentKey": "$documentKey"}}]',
    ],
)
def test_stages_that_keep_what_is_needed_are_taken(text: str) -> None:
    assert parse_stages(text) == text


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ('[{"$unset": "_id"}]', "_id"),
        ('[{"$unset": ["a", "ns.coll"]}]', "ns"),
        ('[{"$project": {"_id": 0}}]', "_id"),
        ('[{"$project": {"_id._data": 0}}]', "_id"),
        ('[{"$project": {"_id": false, "fullDocument": 1}}]', "_id"),
        ('[{"$project": {"_id": "$fullDocument._id"}}]', "_id"),
        ('[{"$project": {"documentKey": 0}}]', "documentKey"),
        ('[{"$project": {"fullDocument": 1}}]', "ns"),
        ('[{"$project": {"ns": 1, "documentKey": 1}}]', "operationType"),
        ('[{"$set": {"_id": 1}}]', "_id"),
        ('[{"$replaceRoot": {"newRoot": {"ns": "$ns"}}}]', "_id"),
        ('[{"$match": {}}, {"$replaceWith": {"_id": "$documentKey", "ns": 1,'
         ' "operationType": 1, "documentKey": 1}}]', "_id"),
    ],
)  # fmt: skip
def test_a_stage_that_takes_it_away_is_named(text: str, lost: str) -> None:
    with pytest.raises(ValueError, match=f"leaves out {lost}, which"):
        parse_stages(text)


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", "[{}]", '[{"match": {}}]', '[{"$match": {}, "$set": {}}]', "[{]"]
)
def test_what_is_no_pipeline_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_stages(text)
