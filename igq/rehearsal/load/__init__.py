"""What the demo and the drills share: planned messages, the programs that put and get them, and who runs those."""
