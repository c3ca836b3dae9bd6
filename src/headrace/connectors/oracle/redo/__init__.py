"""SQL_REDO: the statements that LogMiner writes for changes of rows, parsed to images."""
