"""A bill of materials in CycloneDX for the program and the Python module, from cargo's own list of the crates that it compiles."""

import json
import tomllib
import uuid
from datetime import UTC, datetime
from pathlib import Path

from .common import OUT, ROOT, SUMMARY, VERSION, MissingError, epoch, output


def write() -> Path:
    """The bill, checked against CycloneDX's schema."""
    try:
        from cyclonedx.factory.license import LicenseFactory
        from cyclonedx.model import HashAlgorithm, HashType
        from cyclonedx.model.bom import Bom
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.output.json import JsonV1Dot6
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
        from packageurl import PackageURL
    except ModuleNotFoundError as error:
        raise MissingError(
            f"the Python package of {error.name}: make venv, and run it with .venv/bin/python"
        ) from error

    metadata = json.loads(
        output(
            "cargo",
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        )
    )
    packages = {each["id"]: each for each in metadata["packages"]}
    nodes = {each["id"]: each for each in metadata["resolve"]["nodes"]}
    checksums = {
        (each["name"], each["version"]): each.get("checksum")
        for each in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    }
    licenses = LicenseFactory()

    def component(package: dict) -> Component:
        name, version = package["name"], package["version"]
        digest = checksums.get((name, version))
        # Crates of this workspace come from no registry.
        text = package["license"].replace("/", " OR ") if package["license"] else None
        return Component(
            name=name,
            version=version,
            type=ComponentType.LIBRARY,
            bom_ref=f"cargo:{name}@{version}",
            description=package["description"],
            licenses=[licenses.make_from_string(text)] if text else None,
            purl=PackageURL("cargo", name=name, version=version),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)] if digest else None,
        )

    def needs(identity: str) -> list[str]:
        """Packages that are linked, not those that only build or test."""
        return [
            each["pkg"]
            for each in nodes[identity]["deps"]
            if any(kind["kind"] is None for kind in each["dep_kinds"])
        ]

    roots = [key for key, each in packages.items() if each["name"] in ("anabranch-cli", "anabranch-py")]
    found, todo = {}, list(roots)
    while todo:
        identity = todo.pop()
        if identity not in found:
            found[identity] = component(packages[identity])
            todo += needs(identity)
    bom = Bom(components=found.values())
    # Both depend on the contents alone: the same commit gives the same bill.
    names = " ".join(sorted(f"{each.name} {each.version}" for each in found.values()))
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, names)
    bom.metadata.timestamp = datetime.fromtimestamp(epoch(), UTC)
    bom.metadata.component = Component(
        name="anabranch",
        version=VERSION,
        type=ComponentType.APPLICATION,
        bom_ref="anabranch",
        description=SUMMARY,
        licenses=[licenses.make_from_string("MIT OR Apache-2.0")],
    )
    python = []
    for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]:
        # No version: pip chooses it when it installs the wheel.
        part = Component(
            name=requirement,
            type=ComponentType.LIBRARY,
            bom_ref=f"pypi:{requirement}",
            purl=PackageURL("pypi", name=requirement),
        )
        bom.components.add(part)
        python.append(part)
    bom.register_dependency(bom.metadata.component, [found[each] for each in roots] + python)
    for identity, part in found.items():
        bom.register_dependency(part, [found[each] for each in needs(identity)])
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        raise ValueError(f"the bill of materials breaks the schema of CycloneDX 1.6: {wrong}")
    path = OUT / f"anabranch-{VERSION}.cdx.json"
    path.write_text(text + "\n")
    return path
