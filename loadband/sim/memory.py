"""The KV cache as numbers of blocks.

Knows: how many blocks there are and who holds how many. Must not know: when a sequence runs, what to do when full.
"""

from loadband.sim.profile import Memory


class Blocks:
    """Preallocated blocks; the sum of what is held never exceeds `total`."""

    def __init__(self, memory: Memory) -> None:
        self.total = memory.blocks
        self.used = 0
        self._size = memory.block_size
        self._reserve = memory.reserve_blocks

    def needed(self, tokens: int) -> int:
        """Blocks of a running sequence of so many tokens."""
        return self._reserve + (tokens + self._size - 1) // self._size

    def resize(self, held: int, tokens: int) -> int | None:
        """Let a sequence that holds `held` blocks grow to `tokens`; what it then holds, or None when full."""
        wanted = self.needed(tokens)
        if wanted <= held:
            return held
        if self.used + wanted - held > self.total:
            return None
        self.used += wanted - held
        return wanted

    def release(self, held: int) -> None:
        """Take blocks back."""
        self.used -= held

    @property
    def usage(self) -> float:
        """Share of the blocks that is held, 0 to 1."""
        return self.used / self.total
