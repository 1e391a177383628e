"""Mends: the words of a sentence that passages put right, proposed by rule and judged by the verifier."""
