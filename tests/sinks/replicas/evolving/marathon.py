"""Forty statements one after the other on four tables."""

from __future__ import annotations

TABLES = ("a", "b", "c", "d")
MARATHON = (
    ("a", "ALTER TABLE a ADD COLUMN note text"),
    ("b", "ALTER TABLE b ADD COLUMN note text NOT NULL DEFAULT 'none'"),
    ("c", "ALTER TABLE c DROP COLUMN ratio"),
    ("d", "ALTER TABLE d RENAME COLUMN code TO sign"),
    ("a", "ALTER TABLE a ALTER COLUMN many TYPE bigint"),
    ("b", "ALTER TABLE b ADD COLUMN since timestamptz DEFAULT now()"),
    ("c", "ALTER TABLE c ADD COLUMN ratio real DEFAULT 0.5"),
    ("d", "TRUNCATE d"),
    ("a", "ALTER TABLE a DROP COLUMN note"),
    ("a", "ALTER TABLE a ADD COLUMN note text"),
    ("b", "ALTER TABLE b ADD COLUMN chance float8 DEFAULT random()"),
    ("c", "ALTER TABLE c RENAME COLUMN at TO since"),
    ("d", "ALTER TABLE d ADD COLUMN number serial"),
    ("a", "ALTER TABLE a ALTER COLUMN price TYPE numeric(14, 2)"),
    ("b", "ALTER TABLE b RENAME COLUMN id TO number"),
    ("c", "ALTER TABLE c ALTER COLUMN many TYPE text"),
    ("d", "DROP TABLE d; CREATE TABLE d (id bigint PRIMARY KEY, name text, extra int)"),
    ("a", "COMMENT ON COLUMN a.name IS 'how it is called'"),
    ("b", "ALTER TABLE b ALTER COLUMN name SET NOT NULL"),
    ("c", "ALTER TABLE c RENAME COLUMN name TO temp"),
    ("c", "ALTER TABLE c RENAME COLUMN code TO name"),
    ("c", "ALTER TABLE c RENAME COLUMN temp TO code"),
    ("d", "ALTER TABLE d ADD COLUMN day date DEFAULT current_date"),
    ("a", "ALTER TABLE a ALTER COLUMN ratio TYPE double precision"),
    ("b", "ALTER TABLE b DROP COLUMN chance, ADD COLUMN chance int DEFAULT 1"),
    ("c", "ALTER TABLE c ALTER COLUMN price TYPE numeric(14, 4)"),
    ("d", "ALTER TABLE d DROP CONSTRAINT d_pkey, ADD CONSTRAINT d_pkey PRIMARY KEY (id)"),
    ("a", "ALTER TABLE a ALTER COLUMN name DROP NOT NULL"),
    ("b", "ALTER TABLE b ALTER COLUMN number TYPE bigint"),
    ("c", "ALTER TABLE c ALTER COLUMN since SET DEFAULT now()"),
    ("d", "ALTER TABLE d ADD COLUMN twice int GENERATED ALWAYS AS (extra * 2) STORED"),
    (
        "a",
        "ALTER TABLE a ADD COLUMN kind text DEFAULT 'old'; ALTER TABLE a ALTER kind DROP DEFAULT",
    ),
    ("b", "ALTER TABLE b DROP COLUMN big"),
    ("b", "ALTER TABLE b ADD COLUMN big text"),
    ("c", "ALTER TABLE c ADD COLUMN tags text[] NOT NULL DEFAULT '{}'"),
    ("d", "ALTER TABLE d ALTER COLUMN name TYPE varchar(40)"),
    ("a", "ALTER TABLE a ADD COLUMN stamp uuid DEFAULT gen_random_uuid()"),
    ("b", "TRUNCATE b"),
    ("c", "DROP TABLE c; CREATE TABLE c (id int PRIMARY KEY, code int, name text)"),
    ("d", "ALTER TABLE d RENAME COLUMN id TO number"),
)
STOPPING = (
    "chance float8",
    "number serial",
    "many TYPE text",
    "TYPE numeric(14, 4)",
    "stamp uuid",
    "CREATE TABLE",
)
"""Parts of those that stop their table."""
