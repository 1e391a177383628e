"""English text by offsets: sentences, clauses, words, what joins them, languages. Imports nothing of Eirene's."""
