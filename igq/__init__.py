"""Queue managers as processes: manager, supervisor, IGQ agent, MQSC and the command line."""

__version__ = "0.1.0"
