"""Refines whole data sets: rows streamed in, a journal out, and runners that do the work between.

What belongs here: the engine, the journal and its index, runners. How one row is refined is `eirene.agent.run`'s.
"""
