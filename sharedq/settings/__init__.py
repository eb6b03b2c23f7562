"""Settings from a TOML file and from the environment.

Imports nothing: a Spark worker needs `redis_mask` only, and must not wait for pydantic.
"""
