"""The doctor: is the target fit for a load test, and will its numbers mean what they seem to?

`ask_*` modules ask (sockets, gevent) and keep what they saw as plain values; `judge_*` modules turn such values into
checks and touch nothing. `examination` puts them in order. It asks with the load half's own connection and reader, so
that what it finds is true of the run; it imports neither Locust nor the analysis.
"""
