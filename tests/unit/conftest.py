# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the property tests, folders that a store may be in, and modules that run in the process of a test."""

from __future__ import annotations

import gc
import json
import typing as t

import pytest
from hypothesis import settings

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import trust

# Gates run side by side: the duration of an example means nothing.
settings.register_profile("noisy", parent=settings.default, deadline=None)
# What the gates of other versions choose: the examples are looked for with one Python only.
settings.register_profile("few", parent=settings.get_profile("noisy"), max_examples=10)
settings.load_profile("noisy")


@pytest.fixture(autouse=True)
def trusted_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust the folder of all temporary folders: it is below one that every user may write to."""
    monkeypatch.setattr(trust, "TOP", str(tmp_path_factory.getbasetemp()))


@pytest.fixture
def run_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> t.Callable[..., dict[str, t.Any]]:
    """Run the `main` of a module with options, as Ansible passes them, and return what the module prints."""

    def run(main: t.Callable[[], None], **options: t.Any) -> dict[str, t.Any]:
        text = json.dumps({"ANSIBLE_MODULE_ARGS": options})
        monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_ARGS", text.encode())
        monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_PROFILE", "legacy", raising=False)
        with pytest.raises(SystemExit) as ended:
            main()
        printed = json.loads(capsys.readouterr().out)
        assert bool(ended.value.code) == bool(printed.get("failed"))
        return t.cast("dict[str, t.Any]", printed)

    return run


@pytest.fixture
def no_garbage() -> t.Iterator[None]:
    """Collect the garbage of earlier tests before text that is nested too deeply for Python.

    A collection at the depth limit would fail the finalizers of that garbage, and pytest the test. The next test looks
    only at what is made after this one began: to look at all objects takes 0.2 s.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
