# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that select and authenticate to a cluster."""

from __future__ import annotations


class ModuleDocFragment:
    """Connection options, named as in kubernetes.core."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file, or its content as a mapping.
      - Without this option and O(host), the defaults are E(K8S_AUTH_KUBECONFIG), E(KUBECONFIG) and C(~/.kube/config),
        in this order.
      - "The order of precedence is: options, variables K8S_AUTH_*, kubeconfig. If the options name a cluster (O(host),
        O(kubeconfig), O(context) or O(in_cluster)), the address, credentials and CA certificates of K8S_AUTH_* are not
        used: they were not given for this cluster. O(context) alone selects from the kubeconfig of the environment."
      - Credentials (O(api_key), O(client_cert), O(username)) without a cluster are used for the cluster of the
        environment, in place of all of its credentials.
    type: raw
  context:
    description:
      - Name of a context in the kubeconfig. The default is its current context.
      - Can also be given as E(K8S_AUTH_CONTEXT).
    type: str
  host:
    description:
      - URL of the API server. Together with O(kubeconfig), in the same place, it replaces the address in that file.
      - Can also be given as E(K8S_AUTH_HOST).
    type: str
  api_key:
    description:
      - Bearer token.
      - Can also be given as E(K8S_AUTH_API_KEY).
    type: str
  username:
    description:
      - User name for basic authentication at the API server, or at a proxy in front of it.
      - Can also be given as E(K8S_AUTH_USERNAME).
    type: str
  password:
    description:
      - Password for O(username).
      - Can also be given as E(K8S_AUTH_PASSWORD).
    type: str
  validate_certs:
    description:
      - Whether to verify the certificate of the API server. The default is the setting in the kubeconfig, else V(true).
      - Can also be given as E(K8S_AUTH_VERIFY_SSL), E(K8S_AUTH_VALIDATE_CERTS).
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description:
      - File with the CA certificates that verify the certificate of the API server.
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
      - URL of the HTTP proxy in front of the API server.
      - Can also be given as E(K8S_AUTH_PROXY).
    type: str
  no_proxy:
    description:
      - Comma-separated hosts for which the proxy is not used.
      - Can also be given as E(K8S_AUTH_NO_PROXY).
    type: str
  proxy_headers:
    description:
      - Headers to send to the proxy.
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
      - User to impersonate.
      - Can also be given as E(K8S_AUTH_IMPERSONATE_USER).
    type: str
  impersonate_groups:
    description:
      - Group to impersonate. The Python client can send only one.
      - Can also be given as E(K8S_AUTH_IMPERSONATE_GROUPS).
    type: list
    elements: str
  in_cluster:
    description:
      - Whether to use the service account of the pod in which Ansible runs.
      - >-
        It is used only on request, so that an execution environment on a cluster does not reconfigure that cluster by
        accident.
    type: bool
    default: false
  request_timeout:
    description:
      - Seconds to wait for the response to one request.
      - Requests that fail for a temporary reason (408, 429, 5xx, lost connections) are repeated for up to one minute.
    type: int
    default: 30
  concurrency:
    description:
      - Maximum number of concurrent requests.
    type: int
    default: 8
  read:
    description:
      - How to read what a kubelet serves, such as its live configuration.
      - V(auto) chooses for each node, with the least that the user needs for it. It asks V(kubelet) from 1.33 on if the
        user has C(get) on C(nodes/configz), and a client certificate as the only credential. Else it asks V(node) where
        Ansible can log in, if the user has C(create) on C(serviceaccounts/token); not on nodes with a follower, and
        before 1.33 only with accounts of their own. Else it asks V(proxy).
      - For V(auto), a run sends at most three C(SelfSubjectAccessReviews). The first node that is asked in a way
        decides whether the run uses this way, so that closed ports cost one timeout of three seconds. A kubelet whose
        certificate cannot be verified is not asked at its port. A warning names each way that was left.
      - V(kubelet) asks the kubelet at the C(InternalIP) of its Node, with the same credentials. From 1.33 on the user
        needs C(get) on C(nodes/configz), C(nodes/metrics), C(nodes/healthz) and C(nodes/stats).
      - With V(kubelet), the kubelet receives a token that the credentials contain. A client certificate does not have
        this risk.
      - V(node) asks the kubelet at the loopback address of its host, over the connection that Ansible has to that host,
        without C(become). The host receives a token of O(read_service_account) that is valid for ten minutes, and
        nothing of the user's credentials. It costs two POSTs for the token.
      - V(node) needs a host in the inventory for each node, and a connection that has pipelining, such as
        C(ansible.builtin.ssh). The module must run on the controller, in Ansible's own process. Paths in
        arguments of SSH must be absolute.
      - V(proxy) asks the API server, which asks the kubelet. The user needs C(get) on C(nodes/proxy), which also allows
        exec into containers.
    type: str
    choices: [auto, kubelet, node, proxy]
    default: auto
  read_service_account:
    description:
      - Namespace and name of the ServiceAccount whose tokens nodes receive, for O(read=node) and O(read=auto).
      - From 1.33 on it needs C(get) on C(nodes/configz), C(nodes/metrics), C(nodes/healthz) and C(nodes/stats). The
        user needs C(create) on its C(serviceaccounts/token).
      - A token that allows C(nodes/proxy), and with it exec, is not sent to a node. Kubelets before 1.33 need that
        permission. Set a name with C({node}), which stands for the name of the node. Grant each of these accounts
        C(nodes/proxy) with the C(resourceNames) of its own node only.
    type: str
    default: kube-system/kubelet-configz
  kubelet_ca_cert:
    description:
      - File with the CA certificates that verify the certificates of kubelets. O(read=proxy) does not use it.
        The default is the CA of the API server, which signs them if C(serverTLSBootstrap) is on.
      - For O(read=node), a host also accepts the certificate that its own kubelet has signed,
        C(/var/lib/kubelet/pki/kubelet.crt), if only root can write that file.
    type: path
requirements:
  - python >= 3.10 on the controller or in its execution environment
  - kubernetes >= 28.1.0, != 36.0.0, != 36.0.1
  - PyYAML
notes:
  - The module connects to the API server from the host on which it runs. Run it on the controller
    (C(delegate_to=localhost), C(run_once=true)), not on the nodes.
"""
