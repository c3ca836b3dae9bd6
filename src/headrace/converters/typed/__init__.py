"""Converters that make columns of Spark's own types instead of texts and bytes, built as Arrow
arrays: `row`, a struct of typed fields, and `variant`, Spark's VARIANT."""
