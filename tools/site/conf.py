# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configure Sphinx for the documentation site as `antsibull-docs sphinx-init` does, without remote parts."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

project = "livenodes.kubelet"
copyright = "livenodes.kubelet contributors"
html_title = "livenodes.kubelet"

extensions = ["sphinx_antsibull_ext"]
pygments_style = "ansible"
highlight_language = "YAML+Jinja"
default_role = "any"

# A theme for light and dark that brings its own fonts and scripts.
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_use_index = False

nitpicky = True
# Pages of Ansible's own site that generated pages refer to by label. To look them up there would need the network.
nitpick_ignore = [
    ("std:ref", "action_plugins"),
    ("std:ref", "ansible_configuration_settings"),
    ("std:ref", "callback_plugins"),
    ("std:ref", "common_return_values"),
]
nitpick_ignore_regex = [("std:envvar", "ANSIBLE_.*"), ("envvar", "ANSIBLE_.*")]


def setup(app: Any) -> None:
    """Register the changes to pages that antsibull-docs generates."""
    app.connect("source-read", _name_sidebar)
    app.connect("doctree-read", _remove_contents)


def _name_sidebar(_app: Any, page: str, source: list[str]) -> None:
    """Caption each list of the front page with the heading above it; name plugins and roles without their synopsis."""
    if page != "index":
        return
    parts = re.split(r"^(.+)\n([-~]{4,})\n", source[0], flags=re.MULTILINE)
    text = parts[0]
    for heading, underline, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        line = {"Role Index": "Roles"}.get(heading, heading)
        captioned = body.replace("    :maxdepth: 1\n", f"    :maxdepth: 1\n    :caption: {line}\n")
        named = re.sub(
            r"^    (\w+)_(module|callback|filter|inventory|role)$", r"    \1 <\1_\2>", captioned, flags=re.MULTILINE
        )
        text += f"{heading}\n{underline}\n{named}"
    source[0] = text


def _remove_contents(_app: Any, doctree: nodes.document) -> None:
    """Remove the table of contents inside a page: the theme shows its own beside the page."""
    for topic in list(doctree.findall(nodes.topic)):
        if "contents" in topic["classes"]:
            topic.parent.remove(topic)
