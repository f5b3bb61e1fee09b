"""Requests and answers as JSON: the language of a server and its clients."""
