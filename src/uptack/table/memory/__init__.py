"""Tables in memory: named fields, and whose each row is."""
