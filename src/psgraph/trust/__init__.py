"""How far releases can be trusted, and what quality to expect, without reading private data."""
