"""Analysis: from the files of a run to a verdict. Never imports Locust or gevent; only files cross that wall."""
