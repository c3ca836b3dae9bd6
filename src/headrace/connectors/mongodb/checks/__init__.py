"""Checks of a MongoDB deployment: findings with the commands that correct them."""
