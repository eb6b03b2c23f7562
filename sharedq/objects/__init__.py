"""Objects of the group: their definitions, the store that keeps them, and the commands that change them."""
