"""The console and the REST interface: a small web server beside a manager, or on its own."""
