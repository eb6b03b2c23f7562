"""Messages as programs see them and as Redis stores them."""
