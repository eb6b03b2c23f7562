"""The programs of a load: they put and get messages and record what they did."""
