from __future__ import annotations

import json
from pathlib import Path

import pytest

import ramet
from ramet.token import KeyFile, sign


@pytest.mark.parametrize(
    ("seed", "text", "signature"),
    [  # RFC 8032, 7.1
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ],
)
def test_signatures_are_those_of_the_standard(seed: str, text: str, signature: str) -> None:
    assert sign(bytes.fromhex(seed), bytes.fromhex(text)).hex() == signature


def test_a_key_needs_the_name_of_its_node(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(json.dumps({"actor": 1, "pubkey": "", "private_key": "00" * 32}))
    with pytest.raises(ramet.RametError, match="name it"):
        KeyFile(key, "")
    tokens = KeyFile(key, "nina")
    assert tokens() is tokens()  # kept, not made for each request


def test_what_is_no_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ramet.RametError, match="not a key file"):
        KeyFile(tmp_path / "none", "nina")


@pytest.mark.parametrize("url", ["nina:7480", "ftp://nina", "http://me:secret@nina"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="want an address"):
        ramet.Place(url, token="t")


def test_who_asks_must_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAMET_KEY", raising=False)
    monkeypatch.delenv("RAMET_TOKEN", raising=False)
    with pytest.raises(ValueError, match="say who asks"):
        ramet.Place("http://nina:7480")
