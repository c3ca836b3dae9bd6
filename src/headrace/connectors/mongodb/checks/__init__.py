"""`headrace check` for MongoDB: findings with the commands that correct them."""
