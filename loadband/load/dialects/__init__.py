"""The dialects that servers speak, one a file: how a request is written, and what their events say.

Knows: which there are. Must not know: anything of their JSON.
"""

from loadband.load.dialects.dialect import Dialect
from loadband.load.dialects.ollama import Ollama
from loadband.load.dialects.openai_chat import OpenAIChat
from loadband.load.dialects.openai_completions import OpenAICompletions
from loadband.load.dialects.tgi import Tgi
from loadband.load.dialects.triton import Triton
from loadband.load.dialects.vllm_generate import VllmGenerate

DIALECTS: dict[str, type[Dialect]] = {
    dialect.name: dialect for dialect in (OpenAIChat, OpenAICompletions, VllmGenerate, Tgi, Ollama, Triton)
}
"""Name, as `--api` takes it -> the dialect."""


def dialect_of(api: str, *, stream: bool = True, path: str | None = None) -> Dialect:
    """The dialect of that name. `path`: where the server has it, when not at its usual place."""
    return DIALECTS[api](stream=stream, path=path)
