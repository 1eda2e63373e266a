# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A YAML loader that refuses what PyYAML (YAML 1.1) and the kubelet's Go decoder read differently."""

from __future__ import annotations

import functools
import re
from typing import Any

try:
    import yaml
except ImportError:  # nodes and the import test of ansible-test have no PyYAML
    yaml = None  # type: ignore[assignment]  # a module to mypy


class YamlError(Exception):
    """An error in a document: its line (from 1, or None), its cause and the remedy. Neither text names the origin."""

    def __init__(self, cause: str, remedy: str, line: int | None = None) -> None:
        super().__init__(cause)
        self.cause, self.remedy, self.line = cause, remedy, line


_QUOTE = "Put it in quotes if it is text, or write it as a plain decimal number if it is a number."
_UNRESOLVED = "It holds an unresolved template expression: quote it, or let Ansible resolve it first."
# Plain scalars that PyYAML and Go's yaml.v2 resolve differently, or that JSON cannot hold.
_AMBIGUOUS = (
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"), "a number in base 60 to YAML 1.1 and text to Go"),
    (re.compile(r"[-+]?0[0-9_]+"), "an octal number in some YAML versions and a decimal one in others"),
    (re.compile(r"[-+]?0[obxOBX][0-9a-fA-F_]+"), "a number to some YAML readers and text to others"),
    (re.compile(r"[-+.0-9][-+0-9.eE]*_[-+0-9._eE]*"), "a number with underscores to some YAML readers only"),
    (
        re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+|[-+]\.[0-9]+"),
        "a number to Go and text to some YAML readers",
    ),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), "not a finite number"),
    (re.compile(r"[yYnN]"), "true or false to some YAML readers and text to others"),
    (re.compile(r"="), "the default value mark of YAML 1.1 and text to Go"),
)
_NOT_JSON = {
    "tag:yaml.org,2002:timestamp": "a date to YAML, and the kubelet's configuration has no dates",
    "tag:yaml.org,2002:binary": "binary data",
    "tag:yaml.org,2002:set": "a YAML set",
    "tag:yaml.org,2002:omap": "a YAML ordered map",
    "tag:yaml.org,2002:pairs": "a list of YAML pairs",
}


_MAX_DEPTH = 100
_MAX_NODES = 20_000
"""A mebibyte of text can hold half a million values, which take PyYAML 20 s."""


@functools.lru_cache(maxsize=None)
def _loader() -> Any:
    """Return the loader with limits. Without them, nested brackets take seconds until recursion ends, and a chain of
    merge keys (<<) takes memory by the square of its length.
    """

    class Limited(yaml.SafeLoader):  # pylint: disable=too-many-ancestors
        """Refuses a document as soon as it exceeds a limit."""

        nodes = 0

        def fetch_flow_collection_start(self, *arguments: Any) -> None:
            super().fetch_flow_collection_start(*arguments)
            self._limit_depth(self.flow_level)

        def add_indent(self, *arguments: Any) -> Any:
            self._limit_depth(len(self.indents))
            return super().add_indent(*arguments)

        def compose_node(self, *arguments: Any) -> Any:
            self.nodes += 1
            self._limit_nodes(self.nodes)
            return super().compose_node(*arguments)

        def flatten_mapping(self, node: Any) -> None:
            before = len(node.value)
            super().flatten_mapping(node)
            self.nodes += len(node.value) - before
            self._limit_nodes(self.nodes)

        def _limit_depth(self, depth: int) -> None:
            if depth > _MAX_DEPTH:
                raise _too_deep(self.line + 1)

        @staticmethod
        def _limit_nodes(count: int) -> None:
            if count > _MAX_NODES:
                raise YamlError(
                    f"the document has more than {_MAX_NODES} values",
                    "A kubelet configuration has a few hundred. Check that this is the right file, or write it as JSON",
                )

    return Limited


def _too_deep(line: int | None = None) -> YamlError:
    return YamlError(
        "the document is nested too deeply", "A kubelet configuration has four levels at most; check the file.", line
    )


def load(text: str) -> Any:
    """Return the value of the only document in the text, None when there is no document. Raises YamlError."""
    if yaml is None:
        raise YamlError(
            "the Python package PyYAML is not installed here, so only JSON without errors can be read",
            "Install PyYAML for the Python that runs this module, or check that the text is valid JSON.",
        )
    loader: Any = None
    try:
        loader = _loader()(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check(node, set())
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise _explain(error, text) from None
    except yaml.YAMLError as error:
        raise YamlError(f"not YAML: {str(error).splitlines()[0]}", "Give a YAML or JSON text file in UTF-8.") from None
    except RecursionError:
        raise _too_deep() from None
    finally:
        if loader is not None:
            loader.dispose()


def _explain(error: Any, text: str) -> YamlError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    cause = f"not valid YAML: {error.problem or error.context}"
    if "'\\t'" in str(error.problem):
        return YamlError("a tab is used where YAML requires spaces", "Indent with spaces.", line)
    if "expected a single document" in str(error.context):
        return YamlError("more than one YAML document (`---`)", "Keep one; the kubelet reads only the first.", line)
    remedy = "Check indentation, quotes and colons there and on the line before."
    lines = text.splitlines()
    if line and line <= len(lines) and ("{{" in lines[line - 1] or "{%" in lines[line - 1]):
        remedy = _UNRESOLVED
    return YamlError(cause, remedy, line)


def _check(node: Any, seen: set[int]) -> None:
    """Raise YamlError for ambiguous scalars and keys below a node.

    This runs before merge keys (<<) are resolved, while each value still has its line.
    """
    if id(node) in seen:
        return
    seen.add(id(node))
    line = node.start_mark.line + 1
    if node.tag in _NOT_JSON:
        shown = f"`{node.value}`" if isinstance(node, yaml.ScalarNode) else "the value"
        raise YamlError(f"{shown} is {_NOT_JSON[node.tag]}", "Put it in quotes if it is text.", line)
    if isinstance(node, yaml.ScalarNode):
        if node.style is None:
            for pattern, meaning in _AMBIGUOUS:
                if pattern.fullmatch(node.value):
                    raise YamlError(f"`{node.value}` is {meaning}", _QUOTE, line)
    elif isinstance(node, yaml.MappingNode):
        _check_keys(node)
        for _key, value in node.value:
            _check(value, seen)
    else:
        for value in node.value:
            _check(value, seen)


def _check_keys(node: Any) -> None:
    first: dict[str, int] = {}
    for at, (key, value) in enumerate(node.value):
        line = key.start_mark.line + 1
        if key.tag == "tag:yaml.org,2002:merge":
            _check_merge(value, at, line)
            continue
        if _is_template(key):
            raise YamlError("`{{` begins a template expression, and a mapping to YAML", _UNRESOLVED, line)
        if key.tag != "tag:yaml.org,2002:str":
            shown = f"`{key.value}`" if isinstance(key, yaml.ScalarNode) else "a list or mapping"
            raise YamlError(
                f"the key {shown} is not text", "Field names and map keys are text: put the key in quotes.", line
            )
        if key.value in first:
            raise YamlError(
                f"the key `{key.value}` is given twice, first on line {first[key.value]}",
                "Keep one; the kubelet would silently use the last.",
                line,
            )
        first[key.value] = line


def _is_template(key: Any) -> bool:
    """Return whether a key is the inner mapping of `{{ name }}`, which is a mapping with a mapping as its key."""
    return isinstance(key, yaml.MappingNode) and bool(key.flow_style)


def _check_merge(value: Any, at: int, line: int) -> None:
    """Raise YamlError for a merge key (<<) that is not the first key of its map, or has several maps.

    Go's yaml.v2 (sigs.k8s.io/yaml in the kubelet) lets a merge key override the keys before it, PyYAML never does. Of
    several maps the first wins, and the last one with PyYAML 6.0.4.
    """
    remedy = "Merge one map, as the first key, or write its keys out."
    if at:
        raise YamlError("the merge key `<<` comes after another key: readers disagree which value wins", remedy, line)
    if isinstance(value, yaml.SequenceNode) and len(value.value) > 1:
        raise YamlError("the merge key `<<` has several maps: readers disagree which of them wins", remedy, line)
