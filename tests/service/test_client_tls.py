"""The client over TLS: only a service whose certificate is trusted gets the token."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from psgraph.client import Client
from psgraph.errors import InvalidArgument, ServiceError
from tests.service.running import Server


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for loopback that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([loopback]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = directory / "cert.pem", directory / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A service with TLS, and the certificate to trust."""
    directory = tmp_path_factory.mktemp("tls")
    cert, key = certificate(directory)
    options = ("--tls-cert", str(cert), "--tls-key", str(key))
    with Server(directory / "data", *options) as server:
        yield server, cert


def test_a_trusted_certificate_is_accepted(encrypted: tuple[Server, Path]) -> None:
    server, cert = encrypted
    assert Client(server.address, server.token, certificates=cert).streams() == []
    headers = server.call("GET", "/healthz", api=False).headers
    assert "max-age" in headers["strict-transport-security"]


def test_an_unknown_certificate_is_refused_at_once(encrypted: tuple[Server, Path]) -> None:
    server, _ = encrypted
    with pytest.raises(ServiceError) as refused:
        Client(server.address, server.token).streams()
    assert refused.value.code == "untrusted"


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    with pytest.raises(InvalidArgument, match=r"empty\.pem"):
        Client("https://127.0.0.1:1", certificates=tmp_path / "empty.pem")
