"""How the Python processes of Spark start on a busy machine (decision 28)."""
