"""Seats as use cases: register, attach, poll, acknowledge, reply, sync."""
