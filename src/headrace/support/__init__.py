"""Support bundles: what a database answers to a connector's own statements, with every name and
value masked, for those who have no such database."""
