# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run mutmut in the folder of one part, and write what became of each mutant.

    python worker.py EVERY JOBS MINUTES RESULT [FILE]

Tries every n-th mutant of a file, of one FILE only if it is named, so many at a time, for so many minutes (0: no
limit). Runs in the environment `mutation` with the part's folder as working directory: tools/mutation/__main__.py
prepares both. It uses functions of mutmut that are not its public interface, for which reason its version is pinned.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import typing as t
from pathlib import Path

import libcst
from mutmut import __main__ as mutmut
from mutmut.mutation import mutators
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import orig_function_and_class_names_from_key
from mutmut.workers.isolation import ForkRunner

LEFT_OUT = 34
KILLED = {code for code, status in status_by_exit_code.items() if status in ("killed", "timeout")}
collect = mutmut.collect_source_file_mutation_data


def names_only(node: libcst.BaseString) -> t.Iterator[libcst.BaseString]:
    """Yield one mutant of a text, and none of a sentence: its wording is for people, and the gate `style` reads it."""
    if isinstance(node, libcst.SimpleString) and " " not in str(node.evaluated_value):
        yield from itertools.islice(mutators.operator_string(node), 1)


def no_types(node: libcst.Call) -> t.Iterator[libcst.Call]:
    """Yield the mutants of a call without one argument; not without the type that `cast` takes, which does nothing."""
    cast = isinstance(node.func, libcst.Name) and node.func.value == "cast"
    for mutant in mutators.operator_arg_removal(node):
        if not cast or mutant.args[0] is node.args[0]:
            yield mutant


def sample(every: int, minutes: int, file: str) -> t.Callable[..., t.Any]:
    """Return a replacement of mutmut's function that lists the mutants: it leaves out all but every n-th of a file, and
    those of other files if one is named. A mutant that was killed before stays so until its function changes. One that
    survived is tried again. The time counts from here, when it is known which tests a mutant needs.
    """

    def listed(*, mutant_names: t.Sequence[str]) -> t.Any:
        for data in collect(mutant_names=())[1].values():
            codes, others = data.exit_code_by_key, not str(data.path).endswith(file)
            for number, name in enumerate(codes):
                if number % every or (others and codes[name] is None):
                    codes[name] = LEFT_OUT
                elif not others and codes[name] not in KILLED:
                    codes[name] = None
            data.save()
        # mutmut ends well on Ctrl-C.
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.alarm(60 * minutes)
        return collect(mutant_names=mutant_names)

    return listed


def change(name: str, path: Path) -> str:
    """Return the lines that a mutant takes out, an arrow, and those that it puts in."""
    lines = get_diff_for_mutant(name, path=path).splitlines()[3:]
    old, new = ([line[1:].strip() for line in lines if line[:1] == sign] for sign in "-+")
    return f"{' | '.join(old)} => {' | '.join(new)}"


def results() -> list[dict[str, str]]:
    """Return file, function, status and change of each mutant; the change only where the mutant was not noticed."""
    rows = []
    for data in collect(mutant_names=())[1].values():
        for name, code in data.exit_code_by_key.items():
            function, owner = orig_function_and_class_names_from_key(name)
            row = {
                "file": str(data.path).partition("/module_utils/")[2],
                "function": f"{owner}.{function}" if owner else function,
                "status": status_by_exit_code[code],
            }
            if row["status"] not in ("killed", "timeout", "skipped", "not checked"):
                row["change"] = change(name, data.path)
            rows.append(row)
    return rows


if __name__ == "__main__":
    ours = {mutators.operator_string: names_only, mutators.operator_arg_removal: no_types}
    # In place: mutmut has other names for this list.
    mutators.mutation_operators[:] = [(kind, ours.get(one, one)) for kind, one in mutators.mutation_operators]
    mutmut.collect_source_file_mutation_data = sample(int(sys.argv[1]), int(sys.argv[3]), "".join(sys.argv[5:]))
    # The run that finds out which test runs which function has just passed: a second one would show the same.
    ForkRunner.run_clean_tests = lambda _self, **_tests: 0  # type: ignore[method-assign]
    mutmut._run((), int(sys.argv[2]))
    signal.alarm(0)
    Path(sys.argv[4]).write_text(json.dumps(results(), indent=1) + "\n", encoding="utf-8")
