"""Finding memories: analysis, scoring, fusion, excerpts."""
