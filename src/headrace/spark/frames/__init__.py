"""Transforms of DataFrames whose rows are records of Kafka."""
