"""What an object's name leads to, and whether it still does."""
