"""Which models look at pictures.

Nobody publishes a list. Families that are known to be blind stand here; every other model is shown
the picture, and one that refuses it is told in words from then on.
"""

from __future__ import annotations

import re
from typing import Final

_BLIND: Final = re.compile(
    r"gpt-3\.5|gpt-4(-\d{4}.*)?\Z|gpt-oss|o1-(mini|preview)|o3-mini"
    r"|claude-(2|instant|v1)"
    r"|grok-[123]([:_-]|\Z)|grok-code"
    r"|deepseek-(chat|reasoner|coder|r1|v[123])|mixtral"
    r"|codellama|llama-?(2|3|3\.1|3\.3)([:_-]|\Z)"
    r"|qwen-?(2|2\.5|3)([:_-]|\Z)|phi-?[34](-mini)?([:_]|\Z)"
    r"|gemma(-?2)?([:_]|\Z)|gemma-2|kimi-k2-instruct",
    re.IGNORECASE,
)
_SEEING: Final = re.compile(r"vision|vl\b|multimodal", re.IGNORECASE)


def sees(name: str) -> bool:
    """Whether pictures are sent to a model of this name; vendors' prefixes do not count."""
    return _BLIND.match(name.rpartition("/")[2]) is None or _SEEING.search(name) is not None
