"""What all tests may ask for: the oracle, plain and with TLS, and a real engine.

Knows: how to start and stop them. Must not know: any test.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from tests.engines.engine import Engine, EngineError, LlamaCpp
from tests.oracle.handle import Oracle
from tests.oracle.tls import write_certificate

SomeEngine = TypeVar("SomeEngine", bound=Engine)


@pytest.fixture(scope="session")
def oracle_process() -> Iterator[Oracle]:
    with Oracle() as running:
        yield running


@pytest.fixture(scope="session")
def oracle_tls_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with Oracle(*write_certificate(tmp_path_factory.mktemp("tls"))) as running:
        yield running


@pytest.fixture
def oracle(oracle_process: Oracle) -> Oracle:
    """The oracle, as after its start. A test that kills it must start an `Oracle()` of its own."""
    oracle_process.reset()
    return oracle_process


@pytest.fixture
def oracle_tls(oracle_tls_process: Oracle) -> Oracle:
    """The same over TLS; `cafile` is the certificate to trust."""
    oracle_tls_process.reset()
    return oracle_tls_process


@pytest.fixture(scope="session")
def llamacpp() -> Iterator[LlamaCpp]:
    """A real llama.cpp server, one for each worker; the first start ever makes the model (some seconds)."""
    yield from installed_engine(LlamaCpp)


def installed_engine(kind: Callable[..., SomeEngine], *arguments: str) -> Iterator[SomeEngine]:
    """The engine while it runs; a skipped test where it is not installed."""
    try:
        engine = kind(*arguments)
    except EngineError as reason:
        if "is missing" not in str(reason):
            raise
        pytest.skip(str(reason))
    yield engine
    engine.stop()
