"""Properties draw the same examples on every machine, and a busy machine fails none of them."""

from hypothesis import settings

settings.register_profile("tuning", deadline=None, derandomize=True)
settings.load_profile("tuning")
