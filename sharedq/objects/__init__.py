"""Objects of the group: what their definitions say, where they are kept, and how they are changed."""
