"""How good predicted errors are: cells, fitting of the factors, and the page."""
