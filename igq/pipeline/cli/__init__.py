"""The commands of `igq pipeline`. Other commands of igq import parts of it, so this module imports nothing."""
