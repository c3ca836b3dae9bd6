"""The Db2 connector over Apache Derby: streaming a backlog of change tables to the file sink."""
