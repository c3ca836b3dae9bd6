"""What operators see of running queries: reports, files of them, and an endpoint for Prometheus."""
