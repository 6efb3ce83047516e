"""The encrypted address, with a certificate of an authority that lives as long as the test."""

import http.client
import json
import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from process.service import Place
from process.wire import TIMEOUT


class Papers:
    """An authority, and the files of a certificate that it signed."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        issued = self.authority.issue_cert("localhost", "127.0.0.1")
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"
        for part in issued.cert_chain_pems:
            part.write_to_path(self.certificate, append=True)
        issued.private_key_pem.write_to_path(self.key)

    def environ(self) -> dict[str, str]:
        return {
            "CLANKIE_TLS_CERT": str(self.certificate),
            "CLANKIE_TLS_KEY": str(self.key),
        }

    def trusted(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    def lock(self) -> None:
        """Put a passphrase on the key."""
        key = load_pem_private_key(self.key.read_bytes(), None)
        self.key.write_bytes(
            key.private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"passphrase")
            )
        )


@pytest.fixture(scope="module", name="issued")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return Papers(tmp_path_factory.mktemp("papers"))


@pytest.fixture
def papers(issued: Papers) -> Iterator[Papers]:
    """As they were issued, whatever a test does to them."""
    before = {file: file.read_bytes() for file in (issued.certificate, issued.key)}
    yield issued
    for file, content in before.items():
        file.write_bytes(content)


def test_with_a_certificate_the_address_is_encrypted_and_so_are_the_cookies(
    place: Place, papers: Papers
) -> None:
    # proves: SEC-1
    service = place.run("serve", CLANKIE_MODEL="practice", **papers.environ()).wait_ready()
    address = urlsplit(service.ready["url"])
    assert address.scheme == "https"
    code = service.client.ask("POST", "/v1/login-codes").body["code"]

    browser = http.client.HTTPSConnection(
        "localhost", address.port, timeout=TIMEOUT, context=papers.trusted()
    )
    body, head = json.dumps({"code": code}), {"Content-Type": "application/json"}
    browser.request("POST", "/v1/login", body=body, headers=head)
    answer = browser.getresponse()
    assert answer.status == 200
    cookies = answer.headers.get_all("Set-Cookie") or []
    assert len(cookies) == 2
    assert all("secure" in cookie.lower().split("; ") for cookie in cookies)
    browser.close()

    # Our own commands and seats go by the socket, which needs none of this.
    assert service.client.send("m-1", "hello").status == 202
    assert service.client.known("m-1")["state"] == "settled"


def test_nobody_is_answered_there_in_the_clear(place: Place, papers: Papers) -> None:
    service = place.run("serve", CLANKIE_MODEL="practice", **papers.environ()).wait_ready()
    port = urlsplit(service.ready["url"]).port
    plain = http.client.HTTPConnection("localhost", port, timeout=TIMEOUT)
    plain.request("GET", "/v1/health", headers=service.client.bearer())
    with pytest.raises((http.client.HTTPException, OSError)):
        plain.getresponse()
    plain.close()


def test_a_certificate_that_cannot_be_used_is_named(place: Place, papers: Papers) -> None:
    papers.certificate.write_text("mine")
    said = place.refused(**papers.environ())
    assert str(papers.certificate) in said
    assert "CLANKIE_TLS_CERT" in said
    absent = papers.environ() | {"CLANKIE_TLS_CERT": str(place.root / "absent.pem")}
    assert "absent.pem" in place.refused(**absent)
    pipe = place.root / "pipe.pem"
    os.mkfifo(pipe)
    assert "is a pipe" in place.refused(**papers.environ() | {"CLANKIE_TLS_KEY": str(pipe)})


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked_for_it(
    place: Place, papers: Papers
) -> None:
    papers.lock()
    said = place.refused(**papers.environ())
    assert str(papers.key) in said
    assert "without a passphrase" in said
