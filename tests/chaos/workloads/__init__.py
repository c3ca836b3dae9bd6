"""Random workloads by a printed seed, over stand-ins that are as peculiar as servers, with kills."""
