"""The requests of gets and puts: the choice of the script, and the values that the script is given."""
