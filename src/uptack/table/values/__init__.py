"""Values: the one entrance for columns, whatever holds them, and the plain form of every value."""
