"""Batch: whole data sets through the loop, with rows streamed in, a journal out, and runners between.

What belongs here: the engine, the journal and its index, runners. How one row is refined is `eirene.agent.run`'s.
"""
