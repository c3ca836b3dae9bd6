"""Compiled encoders of Avro and Java's texts, and the interpreter of programs that write them."""
