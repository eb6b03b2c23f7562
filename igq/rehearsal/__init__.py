"""The test bench that ships with the product: load, demo and drills."""
