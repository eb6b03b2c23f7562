"""Failover and peer-recovery drills: scenarios as data, which run against real managers under load."""
