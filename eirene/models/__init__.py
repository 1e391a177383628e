"""Calling models: from a name to a model, retries, timeouts, limits, usage. What to ask and how to read it is not here.

Importing this package loads no LangChain; its modules do so where they need it.
"""
