"""How igq starts processes of its own, and ends them with their parent."""
