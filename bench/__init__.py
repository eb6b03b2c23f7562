"""igq beside raw Redis Streams: what a message costs, measured in one run. See docs/explanation/performance.md."""
