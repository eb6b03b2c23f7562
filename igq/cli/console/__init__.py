"""``igq console``: serves the console and the REST interface, and keeps their users."""
