"""A file is compared with its digests chunk by chunk, and the first that differs is named."""

import hashlib

import pytest

from stator.export import digests
from stator.export.checking import Damage
from stator.export.digests import Digests, decode_digests, digests_of, encode_digests


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "CHUNK", 100)
    (tmp_path / "data").write_bytes(bytes(range(250)))
    return tmp_path / "data"


def fault(made, file):
    with file.open("rb") as stream:
        return made.fault(stream.fileno())


def test_each_chunk_has_the_digest_of_its_bytes(file):
    made, data = digests_of(file), file.read_bytes()
    assert made == Digests(
        250, 100, tuple(hashlib.sha256(data[k : k + 100]).hexdigest() for k in (0, 100, 200))
    )
    assert fault(made, file) is None
    assert decode_digests(encode_digests(made), "weights", version=2) == made


@pytest.mark.parametrize(
    ("at", "problem"),
    [
        (0, "its bytes 0 to 99 do not have the digest named there"),
        (150, "its bytes 100 to 199 do not have the digest named there"),
        (249, "its bytes 200 to 249 do not have the digest named there"),
    ],
)
def test_a_changed_chunk_is_named(file, at, problem):
    made, data = digests_of(file), bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    assert fault(made, file) == problem


def test_another_size_is_named(file):
    made = digests_of(file)
    file.write_bytes(b"abc")
    assert fault(made, file) == "it has 3 bytes, and 250 are named there"


def test_an_empty_file_has_no_chunks(tmp_path):
    (tmp_path / "empty").touch()
    assert digests_of(tmp_path / "empty").chunks == ()


def test_version_1_has_one_digest_of_the_whole_file(file):
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    made = decode_digests({"bytes": 250, "sha256": digest}, "weights", version=1)
    assert fault(made, file) is None


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"bytes": -1, "chunk": 1, "sha256": []}, "weights.bytes must be a size"),
        ({"bytes": 1, "chunk": 2**63, "sha256": []}, "weights.chunk must be a size"),
        ({"bytes": True, "chunk": 1, "sha256": []},
         "weights.bytes must be an integer, not true or false"),
        ({"bytes": 1, "chunk": 0, "sha256": []},
         "weights.sha256 must have a digest for each 0 of 1 bytes"),
        ({"bytes": 5, "chunk": 2, "sha256": ["", ""]},
         "weights.sha256 must have a digest for each 2 of 5 bytes"),
        ({"bytes": 5, "chunk": 5, "sha256": [1]},
         "weights.sha256[0] must be a string, not an integer"),
    ],
)  # fmt: skip
def test_wrong_digests_are_refused_by_their_texts(data, problem):
    with pytest.raises(Damage) as caught:
        decode_digests(data, "weights", version=2)
    assert str(caught.value) == problem
