"""The commands `datasets`, `experiment` and `bench`."""
