"""Tokens by which an actor proves itself to a node, made from its key file."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from pathlib import Path

from .errors import RametError
from .process import PerProcess

LIFE = 3600.0
"""How long a token is good, in seconds; it is made anew when four fifths of that are over."""

# Ed25519, RFC 8032, part 5.1. The standard library has none, and it is needed once an hour. It does not take the same
# time for every key: where others run code on the machine and may measure that, give tokens rather than the key.
_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_Point = tuple[int, int, int, int]
_BASE: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)


def _add(p: _Point, q: _Point) -> _Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % _P, (p[1] + p[0]) * (q[1] + q[0]) % _P
    c, d = 2 * p[3] * q[3] * _D % _P, 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(n: int, p: _Point) -> bytes:
    """Give n times a point, as it is written."""
    q: _Point = (0, 1, 1, 0)
    while n:
        if n & 1:
            q = _add(q, p)
        p, n = _add(p, p), n >> 1
    inverse = pow(q[2], _P - 2, _P)
    x, y = q[0] * inverse % _P, q[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _number(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def sign(seed: bytes, text: bytes) -> bytes:
    """Sign with an Ed25519 key, given by its seed of 32 bytes."""
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | (1 << 254)
    public = _times(scalar, _BASE)
    r = _number(digest[32:], text) % _ORDER
    point = _times(r, _BASE)
    s = (r + _number(point, public, text) * scalar) % _ORDER
    return point + s.to_bytes(32, "little")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class KeyFile:
    """The key of an actor, as `ramet actor new` writes it: gives tokens for one node."""

    def __init__(self, path: str | Path, node: str) -> None:
        if not node:
            msg = "a key is used for one node: name it, as in url='http://host:7480#nina' or node='nina'"
            raise RametError(msg)
        try:
            key = json.loads(Path(path).read_text(encoding="utf-8"))
            self._actor, self._seed = int(key["actor"]), bytes.fromhex(key["private_key"])
        except (OSError, ValueError, KeyError, TypeError) as err:
            msg = f"{path}: not a key file: {err}"
            raise RametError(msg) from err
        self._node = node
        self._locks = PerProcess(threading.Lock)
        self._token = ""
        self._until = 0.0  # by time.monotonic

    def __call__(self) -> str:
        """Give a token that is good for a while."""
        with self._locks.get():
            if time.monotonic() >= self._until:
                self._token = self._mint(int(time.time()))
                self._until = time.monotonic() + LIFE * 4 / 5
            return self._token

    def _mint(self, now: int) -> str:
        claims = {
            "iss": str(self._actor),
            "aud": [self._node],
            "iat": now,
            "exp": now + int(LIFE),
            "jti": secrets.token_hex(8),
        }
        text = ".".join(_base64(json.dumps(part).encode()) for part in ({"alg": "EdDSA", "typ": "JWT"}, claims))
        return text + "." + _base64(sign(self._seed, text.encode()))
