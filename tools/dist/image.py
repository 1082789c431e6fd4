"""A container image in OCI's layout, made of the static program without a daemon. `skopeo copy oci-archive:FILE docker-daemon:anabranch` loads it, as
do `podman load` and `docker load`.

The layout is a handful of JSON files and one archive, each named by its checksum; the specification is opencontainers/image-spec, version 1.1.
"""

import hashlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

from .common import DEBIAN, OUT, ROOT, SUMMARY, VERSION, epoch, pack, squeeze

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def image(programs: dict[str, Path]) -> Path:
    """Writes the image of one or several architectures; the path of its archive."""
    folder = OUT / "build" / "image"
    shutil.rmtree(folder, ignore_errors=True)
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    manifests = [one(blobs, program, architecture) for architecture, program in programs.items()]
    described = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}
    # One name for all architectures, so that each machine takes its own.
    named = blob(blobs, document(described), INDEX) if len(manifests) > 1 else manifests[0]
    # Docker reads the first name, OCI's tools the second.
    named["annotations"] = {
        "io.containerd.image.name": f"localhost/anabranch:{VERSION}",
        "org.opencontainers.image.ref.name": VERSION,
    }
    (folder / "index.json").write_bytes(
        document({"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]})
    )
    (folder / "oci-layout").write_bytes(document({"imageLayoutVersion": "1.0.0"}))
    path = OUT / f"anabranch-{VERSION}-image.tar"
    path.write_bytes(pack(folder, epoch()))
    return path


def one(blobs: Path, program: Path, architecture: str) -> dict:
    """The layer, the configuration and the manifest of one architecture."""
    root = OUT / "build" / f"image-root-{architecture}"
    shutil.rmtree(root, ignore_errors=True)
    (root / "usr/bin").mkdir(parents=True)
    shutil.copy(program, root / "usr/bin/anabranch")
    # The mount point for a user's files, and the names of users, which some tools for containers need.
    (root / "data").mkdir()
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text(
        "root:x:0:0:root:/:/sbin/nologin\nanabranch:x:65532:65532:anabranch:/data:/sbin/nologin\n"
    )
    for text in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / text, root / "usr")
    time = epoch()
    layer = pack(root, time)
    created = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "org.opencontainers.image.title": "anabranch",
        "org.opencontainers.image.description": SUMMARY,
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    }
    platform = {"architecture": DEBIAN[architecture], "os": "linux"}
    config = platform | {
        "created": created,
        "config": {
            "User": "65532:65532",
            "Entrypoint": ["/usr/bin/anabranch"],
            "Cmd": ["--help"],
            "WorkingDir": "/data",
            "Env": ["PATH=/usr/bin"],
            "ExposedPorts": {"9899/udp": {}},
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": created, "created_by": "make dist"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob(blobs, document(config), CONFIG),
        "layers": [blob(blobs, squeeze(layer), LAYER)],
        "annotations": labels | {"org.opencontainers.image.created": created},
    }
    return blob(blobs, document(manifest), MANIFEST) | {"platform": platform}


def document(value: dict) -> bytes:
    """JSON whose bytes depend on the value alone."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def blob(blobs: Path, data: bytes, kind: str) -> dict:
    """Writes a file under its checksum; how others refer to it."""
    digest = hashlib.sha256(data).hexdigest()
    (blobs / digest).write_bytes(data)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}
