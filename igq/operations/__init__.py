"""Operations on managers from outside: start several, stop or remove one, change settings, show the status."""
