"""The commands that define, alter, delete and display objects."""
