# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AnsibleModule does around a module's call, done in Ansible's own process."""

from __future__ import annotations

import datetime
import os
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.controller_module import Definition
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError, MissingLibrary
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import in_process

SPEC: dict[str, t.Any] = {
    "word": {"type": "str"},
    "secret": {"type": "str", "no_log": True},
    "old": {"type": "str", "removed_in_version": "9.0.0", "removed_from_collection": "livenodes.kubelet"},
    "any": {"type": "raw"},
}


def run(call: t.Callable[..., t.Any], verbosity: int = 0, **arguments: t.Any) -> dict[str, t.Any]:
    return in_process.run(
        Definition(SPEC, call),
        "some.module",
        arguments,
        check_mode=False,
        diff=False,
        verbosity=verbosity,
        invocation=False,
    )


def test_a_defect_is_a_failure_with_its_traceback_and_without_secrets() -> None:
    def call(options: dict[str, t.Any], _check: bool) -> t.NoReturn:
        raise KeyError(options["secret"])

    result = run(call, secret="hunter2")
    assert result["failed"] and result["msg"].startswith("KeyError: ")
    assert "test_in_process.py" in result["exception"]
    assert "hunter2" not in str(result)


def test_a_result_that_is_no_json_is_a_defect() -> None:
    assert run(lambda *_given: {"nodes": {1, 2}})["msg"].startswith("TypeError: ")


def test_no_library() -> None:
    """Another interpreter may have the library."""

    def call(*_given: t.Any) -> t.NoReturn:
        raise MissingLibrary("none")

    with pytest.raises(MissingLibrary):
        run(call)


@pytest.mark.parametrize(("verbosity", "shown"), [(2, False), (3, True)])
def test_the_traceback_of_a_failure_is_for_those_who_ask(verbosity: int, shown: bool) -> None:
    def call(*_given: t.Any) -> t.NoReturn:
        raise ClusterError("why", {"changed": True})

    result = run(call, verbosity)
    assert (result["failed"], result["msg"], result["changed"], "exception" in result) == (True, "why", True, shown)


def test_what_is_true_or_null_is_not_taken_for_a_secret() -> None:
    result = run(lambda *_given: {"changed": True, "none": None, "text": "a True b"}, secret="True")
    assert (result["changed"], result["none"], result["text"]) == (True, None, "a ******** b")


def test_deprecations() -> None:
    (deprecation,) = run(lambda *_given: {}, old="x")["deprecations"]
    assert "'old'" in deprecation["msg"] and deprecation["version"] == "9.0.0"


def test_arguments_are_what_a_module_would_get() -> None:
    class Text(str):
        """As Ansible marks what it must not template."""

    seen: list[t.Any] = []
    run(
        lambda options, _check: seen.append(options) or {},
        word=Text("a"),
        any={1: (datetime.date(2026, 1, 2), Text("b"))},
    )
    assert seen[0]["any"] == {"1": ["2026-01-02", "b"]}
    # pylint: disable-next=unidiomatic-typecheck  # a subclass will not do
    assert type(seen[0]["word"]) is str and type(seen[0]["any"]["1"][1]) is str


def test_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The task's own for as long as it runs, also when it fails."""
    monkeypatch.setenv("LIVENODES_A", "before")
    before, place = dict(os.environ), os.getcwd()
    with pytest.raises(ValueError), in_process.surroundings({"LIVENODES_A": "a", "LIVENODES_B": 5}, str(tmp_path)):
        print("noise", file=sys.stdout)
        print("noise", file=sys.stderr)
        assert (os.environ["LIVENODES_A"], os.environ["LIVENODES_B"], os.getcwd()) == ("a", "5", str(tmp_path))
        assert not sys.stdout.isatty()
        raise ValueError("out of here")
    assert (dict(os.environ), os.getcwd()) == (before, place)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("value", "large"),
    [
        ({str(number): number for number in range(in_process.LARGE + 1)}, True),
        ({str(number): number for number in range(in_process.LARGE)}, False),
        ({"nodes": [[{"a": 1}] * in_process.LARGE]}, True),
        ([f"n{number}" for number in range(5000)], False),
        ("text" * 5000, False),
        ({}, False),
        (None, False),
    ],
)
def test_large_mappings_are_not_repeated(value: t.Any, large: bool) -> None:
    """Lists of names are: the report reads them."""
    shown = in_process.brief({"given": value, "other": {"a": 1}})
    assert shown["other"] == {"a": 1}
    assert (shown["given"] == value) is not large
    assert not large or len(str(shown)) < 100


def test_the_invocation_of_a_large_plan_is_short() -> None:
    plan = {f"n{number}": {"variant": "a", "changes": []} for number in range(1000)}
    result = in_process.run(
        Definition(SPEC, lambda *_given: {}),
        "some.module",
        {"any": plan, "word": "w"},
        check_mode=False,
        diff=False,
        verbosity=0,
        invocation=True,
    )
    arguments = result["invocation"]["module_args"]
    assert (arguments["word"], arguments["any"]) == ("w", "(1000 entries, not repeated in the result)")


@pytest.mark.parametrize("name", sorted(in_process.PATHS))
def test_a_relative_kubeconfig_is_that_of_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """A module runs in the folder of the playbook, which is that of the collection."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, "one:~/two::/three")
    monkeypatch.setenv("HOME", "/home/me")
    with in_process.surroundings({}, "/"):
        assert os.environ[name] == f"{tmp_path}/one:/home/me/two:/three"
    assert os.environ[name] == "one:~/two::/three"
