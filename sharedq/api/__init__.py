"""The native Python API: connections and queues as objects, over the MQI underneath.

with sharedq.connect("EWR") as connection, connection.open("FLIGHTS", OpenOption.INPUT_SHARED) as flights:
    message = flights.get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=5000)
    connection.commit()
"""

from sharedq.api.connection import QueueManagerConnection, connect, group_for
from sharedq.api.distribution import DistributionList
from sharedq.api.queue import Queue
from sharedq.api.topics import Subscription, Topic

__all__ = ["DistributionList", "Queue", "QueueManagerConnection", "Subscription", "Topic", "connect", "group_for"]
