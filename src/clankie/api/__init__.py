"""The front door: the HTTP interface under /v1, one router for each resource."""
