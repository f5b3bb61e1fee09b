"""Tables: where rows are, whose they are, and what may be asked of them."""
