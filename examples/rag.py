"""An answer from retrieved passages: each sentence with its verdict, then the loop on it.

    python examples/rag.py

The passages may be texts, or a retriever's documents as they are.
"""

import eirene

question = "Tell me about the zoo of Basel."
passages = ["The zoo of Basel opened in 1874. It keeps 7,000 animals of 600 kinds."]
answer = "The zoo of Basel opened in 1874. Its owner was a famous singer from Vienna who loved parrots."

for claim in eirene.verify(answer, passages).claims:
    print(f"{claim.verdict:>12}  {claim.text}")
record = eirene.refine(question=question, answer=answer, context=passages)
print(f"{record.status}: {record.answer}")
