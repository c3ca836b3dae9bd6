"""Random workloads by a printed seed, over stand-ins as peculiar as servers, with kills."""
