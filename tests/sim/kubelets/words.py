# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet writes into status.config.error (pkg/kubelet/kubeletconfig/status of 1.20)."""

LOAD = "failed to load config, see Kubelet log for details"
VALIDATE = "failed to validate config, see Kubelet log for details"
DOWNLOAD = "failed to sync: failed to download config, see Kubelet log for details"
