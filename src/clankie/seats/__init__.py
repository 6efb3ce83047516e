"""The person's side of a seat: pump, bridge, hooks and one adapter for each harness."""
