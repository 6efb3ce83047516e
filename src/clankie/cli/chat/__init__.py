"""The terminal chat: a story told from the log, a screen that shows it, a desk that sends."""
