"""Channels: programs in other processes, and in other languages, make calls of the MQI through a socket."""
