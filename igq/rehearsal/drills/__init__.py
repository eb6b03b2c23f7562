"""Failover and peer-recovery drills: scenarios as data, run against real managers under load."""
