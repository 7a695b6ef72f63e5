"""An LLM server simulated, whose right answer is known.

`engine` is the continuous-batching engine itself, on the clock it is given; `virtual` lets virtual users load it for
hours in seconds; `server` lets it serve HTTP in real time; `profile` reads what kind of server it is. The simulator
imports nothing of the rest of Loadband: what it is measured with must not be what it is made of.
"""
