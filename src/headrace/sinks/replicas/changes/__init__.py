"""Typed changes of tables, made of Records, and the parts that tasks write of them."""
