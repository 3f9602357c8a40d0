"""Binary glTF (GLB) files as coloured triangles: positions, faces and one colour a face, nothing else.

Covers what furniture files use: a node tree, triangle lists, embedded buffers and PNG or JPEG textures.
Triangles keep the file's winding (a renderer that culls back faces sees what Habitat sees).
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from housemates.geometry.exact import product
from housemates.homes.replicacad.download import AssetError

COMPONENTS = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
TRIANGLES = 4
"""glTF's primitive mode for a list of triangles."""
TEXTURE_SIZE = 64
"""Textures are shrunk to at most this many pixels a side before a face's colour is read from them."""
SAMPLES = np.array([[1, 1, 1], [4, 1, 1], [1, 4, 1], [1, 1, 4], [1, 4, 4], [4, 1, 4], [4, 4, 1]], np.float64)
"""Where on a face the texture is read (barycentric weights, to be normalised); the colour is the mean."""
_TEXTURES: dict[bytes, np.ndarray | None] = {}
"""Decoded textures by a hash of their bytes: the doors of one cupboard all carry the same picture."""
REMEDY = "fetch it again: delete the folder, then run: housemates data replicacad"


@dataclass(frozen=True, eq=False)
class Triangles:
    """A mesh in the frame of its file."""

    vertices: np.ndarray
    """[V, 3] float64, metres."""
    faces: np.ndarray
    """[F, 3] int32."""
    colour: np.ndarray
    """[F, 3] uint8; zero where `coloured` is false."""
    coloured: np.ndarray
    """[F] bool: the file says what colour the face has."""


def read_glb(path: Path) -> Triangles:
    """The triangles of a GLB file, in the file's frame; read once per process and file version."""
    return _read(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _read(path: str, _version: int) -> Triangles:
    document, binary = _chunks(Path(path), Path(path).read_bytes())
    try:
        return _triangles(document, binary)
    except (KeyError, IndexError, TypeError, ValueError, struct.error) as error:
        raise AssetError(f"{path} is not a usable GLB ({error}) - {REMEDY}") from error


def _chunks(path: Path, data: bytes) -> tuple[dict, bytes]:
    """The JSON document and the binary chunk of a GLB file."""
    if data[:7] == b"version":
        raise AssetError(f"{path} is a Git LFS pointer, not a mesh - run: git lfs pull (in that folder)")
    if len(data) < 20 or data[:4] != b"glTF":
        raise AssetError(f"{path} is not a GLB file - {REMEDY}")
    length = struct.unpack_from("<I", data, 8)[0]
    if len(data) < length:
        raise AssetError(f"{path} is cut off ({len(data)} of {length} bytes) - {REMEDY}")
    size = struct.unpack_from("<I", data, 12)[0]
    try:
        document = json.loads(data[20 : 20 + size])
    except ValueError as error:
        raise AssetError(f"{path} has a damaged header ({error}) - {REMEDY}") from error
    needed = set(document.get("extensionsRequired", ())) - {"KHR_mesh_quantization", "KHR_texture_transform"}
    if needed:
        raise AssetError(f"{path} needs {', '.join(sorted(needed))} - convert it to plain GLB")
    return document, data[28 + size : length]


def _triangles(document: dict, binary: bytes) -> Triangles:
    vertices, faces, colours, known = [], [], [], []
    offset = 0
    textures: dict[int, np.ndarray | None] = {}
    for mesh, pose in _instances(document):
        for primitive in document["meshes"][mesh]["primitives"]:
            if primitive.get("mode", TRIANGLES) != TRIANGLES:
                continue
            points = _accessor(document, binary, primitive["attributes"]["POSITION"])
            if "indices" in primitive:
                corners = _accessor(document, binary, primitive["indices"]).reshape(-1, 3).astype(np.int32)
            else:
                corners = np.arange(len(points), dtype=np.int32).reshape(-1, 3)
            colour = _face_colours(document, binary, primitive, corners, textures)
            vertices.append(product(points, pose[:3, :3].T) + pose[:3, 3])
            faces.append(corners + offset)
            colours.append(np.zeros((len(corners), 3), np.uint8) if colour is None else colour)
            known.append(np.full(len(corners), colour is not None))
            offset += len(points)
    if not faces:
        return Triangles(np.zeros((0, 3)), np.zeros((0, 3), np.int32), np.zeros((0, 3), np.uint8), np.zeros(0, bool))
    found = Triangles(np.concatenate(vertices), np.concatenate(faces), np.concatenate(colours), np.concatenate(known))
    if found.faces.max(initial=-1) >= offset:
        raise ValueError("a face names a vertex that is not there")
    return found


def _instances(document: dict) -> list[tuple[int, np.ndarray]]:
    """(mesh index, [4, 4] pose) of every mesh in the scene, depth first."""
    nodes = document.get("nodes", [])
    scenes = document.get("scenes")
    if scenes:
        roots = scenes[document.get("scene", 0)].get("nodes", [])
    else:
        children = {c for node in nodes for c in node.get("children", ())}
        roots = [i for i in range(len(nodes)) if i not in children]
    found = []
    waiting = [(i, np.eye(4)) for i in reversed(roots)]
    while waiting:
        index, above = waiting.pop()
        node = nodes[index]
        pose = product(above, _node_pose(node))
        if "mesh" in node:
            found.append((node["mesh"], pose))
        waiting += [(child, pose) for child in reversed(node.get("children", []))]
    return found


def _node_pose(node: dict) -> np.ndarray:
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(4, 4).T
    x, y, z, w = node.get("rotation", (0, 0, 0, 1))
    pose = np.eye(4)
    pose[:3, :3] = rotation_of((w, x, y, z)) * np.array(node.get("scale", (1, 1, 1)), float)
    pose[:3, 3] = node.get("translation", (0, 0, 0))
    return pose


def rotation_of(wxyz) -> np.ndarray:
    """Rotation [3, 3] of a quaternion (w, x, y, z), which need not be normalised."""
    q = np.asarray(wxyz, float)
    norm = float(np.sqrt(product(q[None], q)[0])) if q.shape == (4,) else np.nan
    if not np.isfinite(norm) or norm < 1e-9:
        raise ValueError(f"{list(np.atleast_1d(q))} is not a rotation")
    w, x, y, z = q / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _accessor(document: dict, binary: bytes, index: int) -> np.ndarray:
    """Values [N, width] of an accessor as float64; normalised integers become 0..1 (or -1..1)."""
    accessor = document["accessors"][index]
    kind, width, count = np.dtype(COMPONENTS[accessor["componentType"]]), WIDTHS[accessor["type"]], accessor["count"]
    if "bufferView" not in accessor or "sparse" in accessor:
        raise ValueError("sparse accessors are not supported")
    view = document["bufferViews"][accessor["bufferView"]]
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    stride = view.get("byteStride", kind.itemsize * width)
    if start + stride * (count - 1) + kind.itemsize * width > len(binary):
        raise ValueError("its buffer is shorter than its header says")
    layout = np.ndarray((count, width), kind.newbyteorder("<"), binary, start, (stride, kind.itemsize))
    values = layout.astype(np.float64)
    if accessor.get("normalized") and kind.kind in "iu":
        values /= 2.0 ** (8 * kind.itemsize - (kind.kind == "i")) - 1
    return values


def _face_colours(document: dict, binary: bytes, primitive: dict, corners: np.ndarray, textures: dict) -> np.ndarray | None:
    """[F, 3] uint8 from vertex colours, the material's texture and its base colour, multiplied; None without any."""
    material = document.get("materials", [{}])[primitive["material"]] if "material" in primitive else {}
    surface = material.get("pbrMetallicRoughness", {})
    colour, known = np.ones((len(corners), 3)), False
    if "COLOR_0" in primitive["attributes"]:
        shade = _accessor(document, binary, primitive["attributes"]["COLOR_0"])[:, :3]
        colour, known = colour * _srgb(shade[corners].mean(axis=1)), True
    if "baseColorFactor" in surface:
        colour, known = colour * _srgb(np.array(surface["baseColorFactor"][:3], float)), True
    texture = surface.get("baseColorTexture")
    attribute = f"TEXCOORD_{texture.get('texCoord', 0)}" if texture else ""
    if texture and attribute in primitive["attributes"]:
        source = document["textures"][texture["index"]].get("source")
        if source is not None and source not in textures:
            textures[source] = _image(document, binary, source)
        pixels = textures.get(source) if source is not None else None
        if pixels is None:
            return None
        uv = _accessor(document, binary, primitive["attributes"][attribute])[corners]
        weights = SAMPLES / SAMPLES.sum(axis=1, keepdims=True)
        at = np.einsum("sk,fkc->fsc", weights, uv) % 1.0
        height, width = pixels.shape[:2]
        row = np.minimum((at[..., 1] * height).astype(int), height - 1)
        col = np.minimum((at[..., 0] * width).astype(int), width - 1)
        colour, known = colour * pixels[row, col].mean(axis=1), True
    return np.clip(np.rint(colour * 255), 0, 255).astype(np.uint8) if known else None


def _image(document: dict, binary: bytes, index: int) -> np.ndarray | None:
    """A texture as [h, w, 3] float 0..1, shrunk to TEXTURE_SIZE; None where it cannot be decoded here."""
    image = document["images"][index]
    if "bufferView" not in image:
        return None
    view = document["bufferViews"][image["bufferView"]]
    start = view.get("byteOffset", 0)
    content = binary[start : start + view["byteLength"]]
    digest = hashlib.blake2b(content, digest_size=16).digest()
    if digest not in _TEXTURES:
        _TEXTURES[digest] = _decode(content)
    return _TEXTURES[digest]


def _decode(content: bytes) -> np.ndarray | None:
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        picture = Image.open(io.BytesIO(content)).convert("RGB")
    except (OSError, ValueError):
        return None
    factor = max(1, -(-max(picture.size) // TEXTURE_SIZE))
    return np.asarray(picture.reduce(factor), float) / 255.0


def _srgb(linear: np.ndarray) -> np.ndarray:
    """Display values of linear light, 0..1."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055)
