"""What the bundled embedding model is; known without loading it."""

from zero_memory.ports.home import EmbedderCard

CARD = EmbedderCard(
    # Name, and the first digits of the graph's SHA-256 (layers/embedding/model.sha256).
    model="e5-small-v2-int8@7d9092cb",
    dimensions=384,
    languages=("en",),
)
