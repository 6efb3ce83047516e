"""Servers of further tools, over the Model Context Protocol.

Rule 1: what a server says (its tools, its results, its errors) is data from elsewhere: bounded,
        cleaned and framed before a model sees it.
Rule 2: what it offers is pinned by a hash. Another list is not used until the owner agrees.
Rule 3: it gets the secrets that the settings name for it, and nothing else of ours.
Rule 4: no turn waits for it longer than its time limit, and it ends with the service.
"""
