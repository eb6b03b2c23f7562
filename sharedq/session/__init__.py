"""The state of a program: its connections, handles and units of work. Values and a link; no calls."""
