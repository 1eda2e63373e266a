# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Needs git, make and python3 (3.11 or later). Everything else comes from PyPI into .venv and .nox, and for the lab from Debian's archive.
SHELL := /bin/bash
PYTHON ?= python3
NODES ?= 3
KUBERNETES ?=
GATES ?=
SCALE ?=
KUBECTL ?= kubectl
PART ?=
RUN := .venv/bin/python -m tools.gates
.DEFAULT_GOAL := help
.PHONY: help test test-long demo sim scale side-by-side house mutation tape lab-up lab-down lab-status lint unit docs site build clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: .venv/nox ## run every gate that can run here, or GATES="unit e2e"; LAB=require insists on the lab, LAB=skip leaves it out, LAB_KUBERNETES=require insists on other versions; CORE=newest takes the newest ansible-core
	@$(RUN) $(GATES)

test-long: .venv/nox ## run the products: all points of the lab gates, or GATES="e2e_node"; show when each last passed
	@$(RUN) --long $(GATES)

demo: .venv/nox ## show the main job on simulated kubelets; LAB=real on a lab of real ones (Debian, root)
	@.venv/bin/nox --session demo

sim: .venv/nox ## run a simulated cluster until Ctrl-C, without root: NODES=5 KUBERNETES="v1.36.2 n2=v1.20.2"
	@.venv/bin/nox --session sim -- --nodes $(NODES) $(if $(KUBERNETES),--kubernetes $(KUBERNETES))

lint: .venv/nox ## lint, types, generated files, documentation: seconds
	@$(RUN) fields ruff shell mypy changelog docs ansible_lint

unit: .venv/nox ## unit and property tests
	@$(RUN) unit

docs: .venv/nox ## check documentation and guides
	@$(RUN) docs

site: .venv/nox ## build the documentation site into build/site
	@$(RUN) site && echo build/site/index.html

build: .venv/nox ## build the collection artifact into build/ and let Galaxy's importer check it
	@$(RUN) galaxy && ls build/*.tar.gz

scale: .venv/nox ## measure whole playbooks at up to 5,000 simulated nodes, and write the figures of the guide: SCALE="--nodes 100 1000"
	@.venv/bin/nox --session scale -- $(SCALE)

side-by-side: .venv/nox ## compare with patches, kubectl and kubernetes.core, and write the tables: KUBECTL=path; LAB=real adds the node side
	@.venv/bin/nox --session side_by_side -- --kubectl $(KUBECTL) $(if $(filter real,$(LAB)),--lab)

house: .venv/nox ## measure the repository: files, lines and density of each part
	@.venv/bin/nox --session house

mutation: .venv/nox ## list the small changes of a file or folder that no unit test notices: PART=_config/values/amounts.py
	@.venv/bin/nox --session mutation -- $(PART)

tape: .venv/nox ## record what simulated tests ask, return and leave on nodes, and the public surface, into build/tape/COMMIT
	@.venv/bin/nox --session tape

lab-up: ## start the lab, or add nodes to it: NODES=3 KUBERNETES="v1.36.2 n2=v1.28.7"
	@$(PYTHON) -m tests.lab up --nodes $(NODES) $(if $(KUBERNETES),--kubernetes $(KUBERNETES))

lab-down: ## remove the lab without a trace
	@$(PYTHON) -m tests.lab down

lab-status: ## show the lab's nodes and where its kubeconfig and inventory are
	@$(PYTHON) -m tests.lab status

clean: ## remove what the gates made; the lab's built binaries and the record of test-long stay
	rm -rf .venv .nox .cache .ansible .hypothesis .mypy_cache .pytest_cache .ruff_cache build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A Debian without python3-venv gets it where we are root; elsewhere the message names it.
.venv/nox: tools/requirements/nox.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y python3-venv >/dev/null; } \
		|| { echo "$(PYTHON) has no venv module: install python3-venv"; exit 1; }
	@$(PYTHON) -m venv --clear .venv
	@.venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check -r tools/requirements/nox.txt
	@touch $@
