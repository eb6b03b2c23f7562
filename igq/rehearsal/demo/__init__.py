"""The demo: real departures pass through a group of three managers, one of which is killed on the way."""
