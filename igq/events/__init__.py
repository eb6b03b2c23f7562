"""Event messages: what they say, how a manager writes them, and how people read them."""
