"""SQL_REDO: the statements that LogMiner writes for changes of rows, to row images."""
