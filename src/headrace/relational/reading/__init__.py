"""SQL that reads rows: tables of a snapshot, chunks between keys, over a dialect."""
