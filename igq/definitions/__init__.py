"""The definitions of a group as text: export, comparison with a file, and trial runs of commands."""
