"""One function for each Lua script: its keys and its arguments."""
