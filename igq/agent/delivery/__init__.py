"""The delivery of a message: by record or by put, to its queue, the dead-letter queue or a report."""
