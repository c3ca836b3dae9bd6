"""Changes of tables: typed rows made of records, and the parts that tasks write of them."""
