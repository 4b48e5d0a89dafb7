"""Arrays, checks of arguments, rounding, threads and files: nothing here knows about embeddings."""
