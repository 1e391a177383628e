"""Whether the reason that a model gives for a fault says that there is none: "factual: the statement is correct."

Only a reason that says this and nothing else counts: "The statement is correct, but the year is not" is a reason.
"""

from __future__ import annotations

import re

_LONGEST = 200  # characters of a reason that may say no more than this
_THING = (
    r"(?:(?:the|this|that) )?(?:statement|sentence|claim|answer|passage|span|part|text|information|it|this|that|all)"
)
_NONE = re.compile(
    r"(?:(?:there|this|it|that)(?: is|'s) )?(?:no|not an?) (?:actual |real )?(?:error|mistake|problem|issue|fault|"
    r"hallucination|contradiction)(?: here| at all| found| in this)?"
    r"|nothing (?:is )?(?:wrong|missing|unsupported|to mend|to correct)(?: here)?"
    rf"|{_THING}(?: is|'s) (?:(?:fully|entirely|completely|in fact|actually|well|perfectly) )?"
    r"(?:correct|accurate|supported|fine|right|consistent|faithful)"
    r"(?: (?:by|in|with|to) (?:the |this |that )?(?:given )?(?:passages?|references?|texts?|context|sources?|"
    r"arguments?|question|answer)(?: \d{1,4})?| by \[\d{1,4}\])?"
)


def denies_fault(reason: str) -> bool:
    """Whether a reason, as a whole, denies the fault that it is given for."""
    if len(reason) > _LONGEST:
        return False
    said = " ".join(reason.lower().replace("’", "'").split()).strip("*_`\"' .!:;-")
    return _NONE.fullmatch(said) is not None
