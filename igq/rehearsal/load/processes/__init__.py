"""The processes of a load: how they are started, forked and watched."""
