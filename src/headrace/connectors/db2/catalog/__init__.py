"""What the control tables and the driver's metadata say of tables."""
