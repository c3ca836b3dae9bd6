"""Checks of a MongoDB: findings with the commands that correct them."""
