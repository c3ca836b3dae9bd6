"""Data files and deletion vectors of tables, as both formats have them."""
