"""The modes of tables: replicas, change logs and histories, and the columns that headrace adds."""
