"""Panes in which harnesses run; tmux so far."""
