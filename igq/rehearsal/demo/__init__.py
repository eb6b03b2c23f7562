"""The main job: real departures through a group of three managers, one of which is killed on the way."""
