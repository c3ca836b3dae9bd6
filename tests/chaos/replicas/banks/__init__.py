"""Banks: the accounts and the ledger of the kills, and tables that are hard on replicas."""
