"""`headrace check` for MongoDB: findings with the commands that mend them."""
