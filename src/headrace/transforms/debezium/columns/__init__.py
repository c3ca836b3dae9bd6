"""Transforms of columns of some types, and of what their schema says of them."""
