"""Loadband: ramps users against an LLM inference server, times every stream truly, and says where it is best run."""

__version__ = "0.1.0"
