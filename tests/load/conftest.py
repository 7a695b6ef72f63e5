"""Properties draw the same examples on every machine, and a busy machine fails none of them."""

from hypothesis import settings

settings.register_profile("load", deadline=None, derandomize=True)
settings.load_profile("load")
