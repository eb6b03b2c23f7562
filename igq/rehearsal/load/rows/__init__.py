"""The rows that a load sends: where they come from, and how they are spread over queues."""
