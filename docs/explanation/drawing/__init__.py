"""The pictures of the explanations, drawn from what the code does. `draw.py` writes them."""
