"""What a get or a put asks of its script: the choice of the script, and the values that this script is given."""
