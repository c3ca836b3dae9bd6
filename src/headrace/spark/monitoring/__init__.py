"""Monitoring of running queries: reports, files of them, and an endpoint for Prometheus."""
