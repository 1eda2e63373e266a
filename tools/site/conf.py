# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx's configuration for the documentation site, as `antsibull-docs sphinx-init` makes it, without what it would
fetch from elsewhere.
"""

from __future__ import annotations

project = "livenodes.kubelet"
copyright = "livenodes.kubelet contributors"
html_title = "livenodes.kubelet"

extensions = ["sphinx_antsibull_ext"]
pygments_style = "ansible"
highlight_language = "YAML+Jinja"
default_role = "any"

# Light and dark, and everything it shows comes with it.
html_theme = "furo"
html_show_sphinx = False
html_copy_source = False
html_use_index = False

nitpicky = True
# Pages of Ansible's own site, which generated pages refer to by label. Looking them up there would take the network.
nitpick_ignore = [
    ("std:ref", label)
    for label in ("action_plugins", "ansible_configuration_settings", "callback_plugins", "common_return_values")
]
nitpick_ignore_regex = [("std:envvar", "ANSIBLE_.*"), ("envvar", "ANSIBLE_.*")]
