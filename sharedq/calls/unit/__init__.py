"""Units of work: pending puts, commit and backout, work in doubt."""
