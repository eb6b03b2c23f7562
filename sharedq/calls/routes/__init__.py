"""The way from an object's name to its queue, and whether that way is still in force."""
