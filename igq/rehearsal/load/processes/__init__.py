"""The processes of a load: started, forked, watched."""
