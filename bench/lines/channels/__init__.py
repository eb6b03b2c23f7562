"""Programs that come by a channel."""
