"""The structures of the MQI as pymqi has them, and the way from them to the native ones."""
