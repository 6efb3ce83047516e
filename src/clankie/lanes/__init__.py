"""The workshop: the service lane, which runs turns over a model API."""
