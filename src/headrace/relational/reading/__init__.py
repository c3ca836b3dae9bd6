"""SQL that reads rows in a dialect: tables of a snapshot, chunks between keys."""
