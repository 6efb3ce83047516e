"""The side door: the command line, one file for each group of commands."""
