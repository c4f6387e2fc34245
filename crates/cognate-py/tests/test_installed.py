"""What is installed: a version, licences, and what a registry wants to know."""

from importlib import metadata

import pytest

import cognate


@pytest.fixture
def installed() -> metadata.Distribution:
    try:
        return metadata.distribution("cognate-learn")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed, but imported from its folder")


def test_the_version_is_that_of_the_distribution(installed: metadata.Distribution) -> None:
    assert cognate.__version__ == installed.version


def test_licences_are_in_the_wheel(installed: metadata.Distribution) -> None:
    files = {path.name: path for path in installed.files or [] if "licenses" in str(path)}
    assert set(files) == {"LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.md"}
    assert "Permission is hereby granted" in files["LICENSE-MIT"].read_text()
    assert "Eigen" in files["THIRD-PARTY.md"].read_text()
    assert installed.metadata["License-Expression"] == "MIT OR Apache-2.0"


def test_what_a_registry_wants_to_know(installed: metadata.Distribution) -> None:
    about = installed.metadata
    assert about["Requires-Python"] == ">=3.10" and about["Summary"]
    assert "Typing :: Typed" in about.get_all("Classifier") and "river" in about.get_all("Provides-Extra")
    assert about["Description-Content-Type"].startswith("text/markdown")


def test_the_wheel_is_small(installed: metadata.Distribution) -> None:
    native = next(path for path in installed.files or [] if path.name.startswith("_native") and path.suffix in (".so", ".pyd"))
    data = native.locate().read_bytes()
    import zlib

    assert len(zlib.compress(data, 6)) < 4e6, "the wheel is to stay below 4 MB"
    # The names of sections end with a zero on both sides; other texts that are the same do not.
    assert b"\0.debug_info\0" not in data and b"\0.symtab\0" not in data, "it is stripped"
