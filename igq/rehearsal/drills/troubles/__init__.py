"""What a drill does to a group: kills, pauses, cut networks, lost structures."""
