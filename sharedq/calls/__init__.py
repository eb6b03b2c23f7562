"""The calls of the MQI. Each acts on a session; a session never calls a call."""
