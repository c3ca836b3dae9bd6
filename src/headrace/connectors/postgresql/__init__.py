"""The PostgreSQL connector: logical replication by pgoutput."""
