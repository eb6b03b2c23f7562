"""The input rows of a load: their sources, and the plan that spreads them over queues."""
