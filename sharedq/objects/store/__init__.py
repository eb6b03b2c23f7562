"""Where Redis keeps the definitions of queues, structures and authorities, and how they are found."""
