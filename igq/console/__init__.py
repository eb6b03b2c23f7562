"""What a person sees: the log, messages and their ids, tables."""
