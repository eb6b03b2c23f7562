"""Redis: how to find the server of a key, and how a script is called there."""
