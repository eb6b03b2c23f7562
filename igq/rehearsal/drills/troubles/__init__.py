"""The faults of the drills: kills, pauses, cut networks, lost structures."""
