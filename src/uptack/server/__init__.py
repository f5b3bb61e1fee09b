"""`uptack serve`: analysts ask, and the curator's budget answers."""
