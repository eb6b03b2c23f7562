"""The load that demo and drills share: planned messages, programs that put and get them, and their processes."""
