# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates of the simulated cluster, and kubeconfigs that use them.

They are made with the package cryptography, which ansible-core needs: a machine may have no openssl program.
"""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
import typing as t
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.lab import pki

LIFE = datetime.timedelta(days=30)
# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which the module ssl does not name: an API server accepts the connection of an
# expired certificate and then answers 401.
ANY_TIME = 0x200000


def _signs() -> x509.KeyUsage:
    """Return what the key of an authority may do: sign certificates."""
    other = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign")
    never = dict.fromkeys((*other, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=True, key_cert_sign=True, **never)


class Certificates:
    """The authority of one simulated cluster in a folder. `authority` is the file of its certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "livenodes-kubelet-sim")])
        authority = self._builder(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        # Python 3.13 refuses an authority without its key usage.
        authority = authority.add_extension(_signs(), critical=True)
        self.authority = self._folder / "ca.crt"
        self._write(self.authority, authority)

    def server(self, node: str = "") -> ssl.SSLContext:
        """Return what the API server, or the kubelet of a node, presents. Clients may have a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        user = f"system:node:{node}" if node else "kube-apiserver"
        context.load_cert_chain(*self._issue(user, (), node or "127.0.0.1"))
        context.load_verify_locations(self.authority)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.verify_flags |= ANY_TIME
        return context

    def kubeconfig(self, path: Path, url: str, user: str, *groups: str, expired: bool = False) -> Path:
        """Write a kubeconfig with a client certificate of this user; return its path."""
        with self._lock:
            pair = self._issue(user, groups, expired=expired)
        return pki.write_private(path, pki.kubeconfig(url, self.authority, user, *pair))

    def _issue(self, user: str, groups: t.Sequence[str], address: str = "", expired: bool = False) -> tuple[Path, Path]:
        """Return certificate and key of a user (CN) in groups (O), for client and server use."""
        label = user.replace(":", "-")
        certificate, private = self._folder / f"{label}.crt", self._folder / f"{label}.key"
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name(
            [
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
                x509.NameAttribute(NameOID.COMMON_NAME, user),
            ]
        )
        uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
        builder = self._builder(name, key.public_key(), expired).add_extension(uses, critical=False)
        if address:
            # A kubelet's own certificate has the name of its node, and no address.
            host = x509.IPAddress(ipaddress.ip_address(address)) if "." in address else x509.DNSName(address)
            names = x509.SubjectAlternativeName([host])
            builder = builder.add_extension(names, critical=False)
        pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        text = key.private_bytes(pem, pkcs8, serialization.NoEncryption()).decode()
        self._write(certificate, builder)
        return certificate, pki.write_private(private, text)

    def _builder(
        self, name: x509.Name, key: ec.EllipticCurvePublicKey, expired: bool = False
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            # Clocks of a test may be behind.
            .not_valid_before(now - LIFE)
            .not_valid_after(now - LIFE / 2 if expired else now + LIFE)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(authority, critical=False)
        )

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
