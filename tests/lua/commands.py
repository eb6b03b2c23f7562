"""The Redis commands that scripts may use."""

from __future__ import annotations

WRITES = {"SET", "DEL", "UNLINK", "RENAME", "INCR", "INCRBY", "HSET", "HSETNX", "HDEL", "HINCRBY"}
WRITES |= {"ZADD", "ZREM", "ZREMRANGEBYRANK", "ZREMRANGEBYLEX", "ZPOPMIN", "SADD", "SREM", "XADD", "XDEL", "EXPIRE"}
WRITES |= {"RPUSH", "LPUSH", "LPOP", "LINSERT", "LREM", "LSET", "LTRIM"}
READS = {"EXISTS", "GET", "HGET", "HMGET", "HEXISTS", "HLEN", "HSTRLEN", "HKEYS", "HVALS", "LLEN", "LRANGE", "SMEMBERS"}
READS |= {
    "ZCARD",
    "ZCOUNT",
    "ZLEXCOUNT",
    "ZRANGE",
    "ZRANGEBYLEX",
    "ZRANGEBYSCORE",
    "ZREVRANGEBYLEX",
    "ZSCORE",
    "ZMSCORE",
}
READS |= {"XRANGE", "XREVRANGE", "HSCAN", "TIME"}
