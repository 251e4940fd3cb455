"""What the bundled embedding model is; known without loading it."""

from zero_memory.ports.home import EmbedderCard

E5_WEIGHT = 6
"""How many times the cosine of e5-small-v2 counts beside that of all-MiniLM-L6-v2.

Unrelated texts differ little by e5 (its cosines spread a fifth of the other's), so that 6 makes it
the stronger one by a little. On the retrieval benchmark 4 to 12 differ by half a point: a lower
weight serves engineering, a higher one chat.
"""

CARD = EmbedderCard(
    # Weights, names, and the first digits of the graphs' SHA-256 (layers/embedding/model.sha256).
    model=f"{E5_WEIGHT}*e5-small-v2-int8@7d9092cb+all-minilm-l6-v2-int8@afdb6f1a",
    dimensions=768,
    languages=("en",),
)
