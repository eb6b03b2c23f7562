"""The programs of a load: they put, get and note what they did."""
