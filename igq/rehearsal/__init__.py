"""The test bench that ships with igq: the load, the demo and the drills."""
