# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that say which cluster to talk to."""

from __future__ import annotations


class ModuleDocFragment:
    """Connection options, named as in kubernetes.core."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file, or its content as a mapping.
      - Without it, and without O(host), E(K8S_AUTH_KUBECONFIG), then E(KUBECONFIG), then C(~/.kube/config) is used.
    type: raw
  context:
    description:
      - Name of a context in the kubeconfig; its current context by default.
      - Can also be given as E(K8S_AUTH_CONTEXT).
    type: str
  host:
    description:
      - URL of the API server.
      - Can also be given as E(K8S_AUTH_HOST).
    type: str
  api_key:
    description:
      - Bearer token.
      - Can also be given as E(K8S_AUTH_API_KEY).
    type: str
  username:
    description:
      - User name for an API server, or a proxy before it, that does basic authentication.
      - Can also be given as E(K8S_AUTH_USERNAME).
    type: str
  password:
    description:
      - Password that goes with O(username).
      - Can also be given as E(K8S_AUTH_PASSWORD).
    type: str
  validate_certs:
    description:
      - Whether to verify the API server's certificate; V(true) unless the kubeconfig says otherwise.
      - Can also be given as E(K8S_AUTH_VERIFY_SSL), E(K8S_AUTH_VALIDATE_CERTS).
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description:
      - File with the certificates that the API server's certificate is verified against.
      - Can also be given as E(K8S_AUTH_SSL_CA_CERT), E(K8S_AUTH_CA_CERT).
    type: path
    aliases: [ssl_ca_cert]
  client_cert:
    description:
      - File with a client certificate.
      - Can also be given as E(K8S_AUTH_CERT_FILE), E(K8S_AUTH_CLIENT_CERT).
    type: path
    aliases: [cert_file]
  client_key:
    description:
      - File with the key of O(client_cert).
      - Can also be given as E(K8S_AUTH_KEY_FILE), E(K8S_AUTH_CLIENT_KEY).
    type: path
    aliases: [key_file]
  proxy:
    description:
      - URL of an HTTP proxy to reach the API server through.
      - Can also be given as E(K8S_AUTH_PROXY).
    type: str
  no_proxy:
    description:
      - Hosts that are reached without the proxy, separated by commas.
      - Can also be given as E(K8S_AUTH_NO_PROXY).
    type: str
  proxy_headers:
    description:
      - Headers sent to the proxy.
    type: dict
    suboptions:
      proxy_basic_auth:
        description:
          - Colon-separated user name and password for the proxy.
          - Can also be given as E(K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH).
        type: str
      basic_auth:
        description:
          - Colon-separated user name and password for the server behind the proxy.
          - Can also be given as E(K8S_AUTH_PROXY_HEADERS_BASIC_AUTH).
        type: str
      user_agent:
        description:
          - Value of the User-Agent header.
          - Can also be given as E(K8S_AUTH_PROXY_HEADERS_USER_AGENT).
        type: str
  persist_config:
    description:
      - Whether to write refreshed tokens back to the kubeconfig file.
      - Can also be given as E(K8S_AUTH_PERSIST_CONFIG).
    type: bool
  impersonate_user:
    description:
      - User to act as.
      - Can also be given as E(K8S_AUTH_IMPERSONATE_USER).
    type: str
  impersonate_groups:
    description:
      - Group to act as; the Python client can send one only.
      - Can also be given as E(K8S_AUTH_IMPERSONATE_GROUPS).
    type: list
    elements: str
  in_cluster:
    description:
      - Whether to use the service account of the pod this runs in.
      - >-
        Never used unasked: an execution environment on a cluster must not reconfigure that cluster by accident.
    type: bool
    default: false
  request_timeout:
    description:
      - Seconds to wait for the answer to one request.
      - Requests that fail for a passing reason (408, 429, 5xx, lost connections) are repeated for up to a minute, however many.
    type: int
    default: 30
  concurrency:
    description:
      - How many requests are under way at once.
    type: int
    default: 8
requirements:
  - python >= 3.10 where it runs (the controller or its execution environment)
  - kubernetes >= 28.1.0, != 36.0.0, != 36.0.1
  - PyYAML
notes:
  - A module talks to the API server from where it runs. Run it on the controller (C(delegate_to=localhost), C(run_once=true)), not on the nodes.
"""
