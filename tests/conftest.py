"""Property tests draw the same examples on every run; `HYPOTHESIS_PROFILE=search` looks for new ones, and longer."""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
