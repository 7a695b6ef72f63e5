"""What the walls of the house are, as functions over source text; `test_walls.py` holds every file against them.

Knows: the syntax tree. Must not know: which files there are.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence

CONTRACT = ("record", "histogram", "plan", "slo", "rundir", "errors")
"""The modules that both halves share."""

PATCHABLE = ("locust", "gevent", "geventhttpclient")
"""Libraries whose insides are changed in one module only."""

CARELESS_NAMES = frozenset({"utils", "util", "common", "helpers", "helper", "misc"})
"""Names that say nothing of what a module knows."""


def imported(source: str, package: str = "") -> set[str]:
    """Full names of all modules that a source imports, also inside functions and by `importlib`.

    `from a import b` counts as `a.b`, for b may be a module. `package` is where relative imports begin.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join(filter(None, [*parents, node.module]))
            names |= {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            names |= {
                arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            }
    return names


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def below(name: str, modules: Sequence[str]) -> bool:
    """Whether a module is one of these or stands inside one."""
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def forbidden(source: str, modules: Sequence[str], package: str = "") -> list[str]:
    """Imports of the modules that a wall keeps out."""
    return sorted(name for name in imported(source, package) if below(name, modules))


def beyond_standard_library(source: str, package: str = "") -> list[str]:
    """Imports of a contract module that are neither the standard library nor the contract."""
    ours = [f"loadband.{name}" for name in CONTRACT]
    return sorted(
        name
        for name in imported(source, package)
        if name.partition(".")[0] not in sys.stdlib_module_names and not below(name, ours)
    )


def beyond(source: str, own: str, ours: Sequence[str], package: str = "") -> list[str]:
    """Imports of our own code outside the package `own`."""
    return sorted(name for name in imported(source, package) if below(name, ours) and not below(name, [own]))


def patches(source: str) -> list[str]:
    """Where a source changes an attribute of something that it imported from a patchable library."""
    tree = ast.parse(source)
    known = set(_names_of(tree, PATCHABLE))
    found: list[str] = []
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = [leaf for target in node.targets for leaf in _leaves(target)]
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call) and _called(node) in ("setattr", "delattr") and node.args:
            targets = [ast.Attribute(node.args[0], "?")]
        found += [
            f"line {getattr(node, 'lineno', '?')}: {ast.unparse(target)}"
            for target in targets
            if isinstance(target, ast.Attribute | ast.Subscript) and _root(target) in known
        ]
    return found


def _names_of(tree: ast.AST, libraries: Sequence[str]) -> Iterator[str]:
    """Names that a tree binds by importing from these libraries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.asname or a.name.partition(".")[0] for a in node.names if below(a.name, libraries))
        elif isinstance(node, ast.ImportFrom) and below(node.module or "", libraries):
            yield from (alias.asname or alias.name for alias in node.names)


def _leaves(target: ast.expr) -> Iterator[ast.expr]:
    """The single targets of `a.b, (c.d, *e) = ...`."""
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _leaves(each)
    elif isinstance(target, ast.Starred):
        yield from _leaves(target.value)
    else:
        yield target


def _root(node: ast.expr) -> str:
    """The first name of `a.b.c[d].e`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def logic(source: str) -> list[str]:
    """Functions, classes and loops of a file that should be a menu."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.Lambda)
    return [
        f"line {node.lineno}: {type(node).__name__}" for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)
    ]


def careless(path: str) -> list[str]:
    """Parts of a module's path that say nothing of what it knows."""
    return sorted(CARELESS_NAMES & set(path.removesuffix(".py").split("/")))


_PRIVATE = re.compile(
    "|".join((
        r"(?<![\w.-])/(?:wo" r"rk|ro" r"ot)(?:/|\b(?=[\s\"'`)\]:,]))",
        r"(?<![\w.-])/(?:ho" r"me|Us" r"ers)/\w",
        r"[A-Z]:\\Us" r"ers\\",
        r"\bsha" r"red/(?:design|style|verdict|locust|pitfalls|engines|wire|cases|curves|bench)\b",
    ))
)  # fmt: skip
"""Places on somebody's own machine; split, so that this file does not mention them either."""


def private_paths(text: str) -> list[str]:
    """Lines that name a place on somebody's own machine."""
    return [f"line {n}: {line.strip()[:80]}" for n, line in enumerate(text.split("\n"), 1) if _PRIVATE.search(line)]
