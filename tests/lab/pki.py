# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's certificate authorities and the certificates they sign, created with openssl."""

from __future__ import annotations

import base64
import json
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .console import run

DAYS = "3650"


class Authority:
    """A certificate authority in a folder: `ca.crt`, `ca.key`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.certificate = folder / "ca.crt"
        self.key = folder / "ca.key"
        self._name = name

    def ensure(self) -> None:
        """Create the authority unless it exists."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.certificate.exists():
            return
        fresh = self.folder / "ca.new"
        # The certificate is renamed last: if it exists, the pair is complete.
        usage = "keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign"
        about = ("-subj", f"/CN={self._name}", "-days", DAYS, "-addext", usage)
        run("openssl", "req", "-x509", *_new_key(self.key), *about, "-out", fresh)
        fresh.rename(self.certificate)

    def issue(
        self,
        label: str,
        name: str,
        groups: Sequence[str] = (),
        addresses: Sequence[str] = (),
        names: Sequence[str] = (),
        expired: bool = False,
        again: bool = False,
    ) -> tuple[Path, Path]:
        """Sign a certificate for client and server use, unless it exists (`again`: anyway); return (certificate, key).

        Kubernetes reads `name` and `groups` as user and groups (CN and O).
        """
        certificate, key = self.folder / f"{label}.crt", self.folder / f"{label}.key"
        if certificate.exists() and not again:
            return certificate, key
        subject = "".join(f"/O={_escape(group)}" for group in groups) + f"/CN={_escape(name)}"
        alternatives = ",".join([f"IP:{address}" for address in addresses] + [f"DNS:{item}" for item in names])
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            work = Path(scratch)
            run("openssl", "req", *_new_key(key), "-subj", subject, "-out", work / "csr")
            (work / "extensions").write_text(
                "[v3]\nkeyUsage=critical,digitalSignature,keyEncipherment\nextendedKeyUsage=clientAuth,serverAuth\n"
                + (f"subjectAltName={alternatives}\n" if alternatives else "")
            )
            files = ("-in", work / "csr", "-extfile", work / "extensions", "-extensions", "v3", "-out", work / "crt")
            if expired:
                self._sign_expired(work, files)
            else:
                by = ("-CA", self.certificate, "-CAkey", self.key, "-set_serial", f"0x{secrets.token_hex(8)}")
                run("openssl", "x509", "-req", *by, "-days", DAYS, *files)
            (work / "crt").rename(certificate)
        return certificate, key

    def _sign_expired(self, work: Path, files: Sequence[object]) -> None:
        # Only `openssl ca` accepts dates in the past, and it needs a small database.
        (work / "index").touch()
        (work / "serial").write_text(secrets.token_hex(8).upper() + "\n")
        (work / "config").write_text(
            f"[ca]\ndefault_ca=lab\n[lab]\nnew_certs_dir={work}\ndatabase={work}/index\nserial={work}/serial\n"
            "default_md=sha256\npolicy=any\n[any]\norganizationName=optional\ncommonName=supplied\n"
        )
        by = ("-config", work / "config", "-cert", self.certificate, "-keyfile", self.key)
        day = ("-startdate", "20200101000000Z", "-enddate", "20200102000000Z")
        run("openssl", "ca", "-batch", "-notext", *by, *day, "-preserveDN", *files)


def kubeconfig(url: str, authority: Path, user: str, certificate: Path, key: Path) -> str:
    """Return a self-contained kubeconfig, as JSON, which every reader of a kubeconfig accepts."""

    def inline(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    cluster = {"server": url, "certificate-authority-data": inline(authority)}
    pair = {"client-certificate-data": inline(certificate), "client-key-data": inline(key)}
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": user, "user": pair}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user}}],
    }
    return json.dumps(whole, indent=2) + "\n"


def write_private(path: Path, text: str) -> Path:
    """Write a file that only root may read, atomically."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.rename(path)
    return path


def _new_key(path: Path) -> tuple[object, ...]:
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("/", "\\/").replace("+", "\\+")
