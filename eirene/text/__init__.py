"""Text analysis by offsets: sentences, clauses, words, languages. Imports nothing of Eirene's."""
