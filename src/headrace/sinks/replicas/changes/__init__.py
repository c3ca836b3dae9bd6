"""Typed changes of tables, made from Records, and the parts that tasks write from them."""
