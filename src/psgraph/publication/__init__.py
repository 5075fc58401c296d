"""Publishing a stream under a guarantee, and everything kept and shown of it."""
