"""Read by Python when it starts with this folder in its path: a pump that does not wait long.

It waits five seconds before it asks a service again that was gone. The tests that kill the service
often would mostly wait for that.
"""

import sys

if sys.orig_argv[-3:-1] == ["seat", "drive"]:
    from clankie.seats import patience

    vars(patience)["RECONNECT"] = 0.2
