"""What an operator does to structures and members."""
