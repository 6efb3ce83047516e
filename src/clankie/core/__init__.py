"""The law: pure values and state machines.

No input or output, no clock, no randomness, no event loop: functions take values and `now`, and
return values. Everything above may rely on it; it relies on nothing but a short list of standard
modules (tests/house/test_purity.py).
"""
