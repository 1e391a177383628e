"""Calling models: resolving names, retries, timeouts, limits, cache, usage. Prompts and parsing are elsewhere.

Importing this package loads no LangChain; its modules do so where they need it.
"""
