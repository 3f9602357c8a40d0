"""Homes of the ReplicaCAD dataset, read from its own files: scene instances, configurations, URDF, GLB, navmesh.

What the folder lacks (a stage, a bicycle) is left out, told once, and noted in `Home.notes`; what is there but damaged is
an AssetError. Meshes, joints and receptacles are stored at joint zero, as everywhere (`home.body_poses` moves them).
"""

from __future__ import annotations

import contextlib
import difflib
import json
import warnings
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from housemates.geometry.exact import product
from housemates.homes.floor import Floor
from housemates.homes.home import Home, Joint, Meshes, Parts, Receptacle
from housemates.homes.replicacad.download import AssetError
from housemates.homes.replicacad.gltf import Triangles, read_glb, rotation_of
from housemates.homes.replicacad.navmesh import floor_from_navmesh
from housemates.homes.replicacad.receptacles import Frame, floor_from_triangles, is_floor, receptacles_of
from housemates.homes.replicacad.urdf import Furniture, read_urdf

SPLITS = {"train": ("v3_sc0", "v3_sc1", "v3_sc2"), "val": ("v3_sc3",), "test": ("v3_sc4",)}
"""The Home Assistant Benchmark's splits: layouts whose names begin so (replicacad.md 1)."""
PIECES = {"chair_01": "chair"}
"""Pieces that the paper calls otherwise than their files."""
FETCH = "run: housemates data replicacad"


@dataclass(frozen=True, eq=False)
class Dataset:
    """What a ReplicaCAD folder offers, by name."""

    folder: Path
    scenes: dict[str, Path]
    stages: dict[str, Path]
    objects: dict[str, Path]
    articulated: dict[str, Path]
    navmeshes: dict[str, Path]


@dataclass(eq=False)
class Assembly:
    """A home while it is put together."""

    dataset: Dataset
    with_meshes: bool
    labels: list[str] = field(default_factory=lambda: ["floor", "wall"])
    joints: list[Joint] = field(default_factory=list)
    receptacles: list[Receptacle] = field(default_factory=list)
    pieces: list[tuple] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, path: Path, what: str, pose: np.ndarray, label: str, body: int = 0) -> None:
        """Put the triangles of a GLB file into the world by `pose` [4, 4] (scale included), or note that it is missing."""
        if not path.is_file():
            self.notes.append(f"{_relative(self.dataset, path)} is missing: {what}")
        elif self.with_meshes:
            self.pieces.append((read_glb(path), pose, label, body))


def replicacad_scenes(folder: Path) -> list[str]:
    """Names of the homes in a ReplicaCAD folder, sorted."""
    return sorted(_open(folder).scenes)


def load_replicacad_split(folder: Path, split: str, meshes: bool = True) -> list[Home]:
    """The homes of a split of SPLITS that the folder has, in the order of their names."""
    if split not in SPLITS:
        raise ValueError(f"No split '{split}' - choose one of: {', '.join(SPLITS)}")
    names = [name for name in replicacad_scenes(folder) if name.startswith(SPLITS[split])]
    if not names:
        raise AssetError(f"{folder} has no scenes of the split {split} ({', '.join(SPLITS[split])}...) - {FETCH}")
    return [load_replicacad(folder, name, meshes) for name in names]


def load_replicacad(folder: Path, scene: str, meshes: bool = True) -> Home:
    """One home of a ReplicaCAD folder by name (`v3_sc0_staging_00`); without `meshes` it has no triangles to look at."""
    dataset = _open(folder)
    if scene not in dataset.scenes:
        near = difflib.get_close_matches(scene, dataset.scenes, 3, 0.5) or sorted(dataset.scenes)[:3]
        raise AssetError(f"No scene '{scene}' in {folder} - did you mean {', '.join(near)}? ({len(dataset.scenes)} in all)")
    path = dataset.scenes[scene]
    content = _json(path)
    try:
        home = _home(dataset, scene, content, meshes)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        if isinstance(error, AssetError):
            raise
        raise AssetError(f"{path} is not a usable scene ({_reason(error)}) - fetch it again, {FETCH}") from error
    _tell_missing(dataset.folder)
    return home


def _home(dataset: Dataset, scene: str, content: dict, with_meshes: bool) -> Home:
    navmesh = dataset.navmeshes.get(content.get("navmesh_instance", scene))
    measured = navmesh is None or not navmesh.is_file()
    home = Assembly(dataset, with_meshes or measured)
    _add_stage(home, content["stage_instance"])
    counted = Counter(
        _piece(item) for item in (*content.get("object_instances", ()), *content.get("articulated_object_instances", ()))
    )
    seen: Counter = Counter()
    for key, add in (("object_instances", _add_object), ("articulated_object_instances", _add_articulated)):
        for item in content.get(key, ()):
            piece = _piece(item)
            seen[piece] += 1
            add(home, item, piece, f"{piece}_{seen[piece]}" if counted[piece] > 1 else piece)
    if measured:
        home.notes.append(f"the navmesh of {scene} is missing: the floor is measured from the triangles")
    triangles = _meshes(home)
    floor = _measured_floor(home, scene, triangles) if measured else floor_from_navmesh(navmesh)
    return Home(
        name=scene,
        parts=_no_parts(),
        labels=tuple(home.labels),
        joints=tuple(home.joints),
        receptacles=_uniquely_named(home.receptacles),
        floor=floor,
        meshes=triangles if with_meshes else None,
        notes=tuple(dict.fromkeys(home.notes)),
    )


def _add_stage(home: Assembly, item: dict) -> None:
    name = _template(item)
    if name not in home.dataset.stages:
        home.notes.append(f"stage {name} is missing: no walls and no floor to look at")
        return
    config_path = home.dataset.stages[name]
    glb = _asset(config_path)
    home.add(glb, "no walls and no floor to look at", product(_pose(item), _scaling(_json(config_path))), "wall")


def _add_object(home: Assembly, item: dict, piece: str, instance: str) -> None:
    name = _template(item)
    if name not in home.dataset.objects:
        home.notes.append(f"object {name} is missing: left out")
        return
    config_path = home.dataset.objects[name]
    config = _json(config_path)
    glb = _asset(config_path)
    size = product(_scaling(config), _scaling(item))
    pose, shift = _pose(item), np.eye(4)
    # Habitat keeps an object's centre of mass at its origin: poses and receptacles refer to that frame.
    shift[:3, 3] = -product(size[:3, :3], _centre_of_mass(config, glb))
    if item.get("translation_origin", "COM").upper() == "ASSET_LOCAL":
        back = np.eye(4)
        back[:3, 3] = -shift[:3, 3]
        pose = product(pose, back)
    _label(home, piece)
    home.add(glb, "left out", product(product(pose, shift), size), piece)
    home.receptacles += receptacles_of(piece, instance, config, {"": Frame(pose)}, np.diag(size)[:3])


def _add_articulated(home: Assembly, item: dict, piece: str, instance: str) -> None:
    name = _template(item)
    if name not in home.dataset.articulated:
        home.notes.append(f"furniture {name} is missing: left out")
        return
    path = home.dataset.articulated[name]
    scale = float(item.get("uniform_scale", 1.0))
    furniture, pose = read_urdf(path, scale), _pose(item)
    first = len(home.joints)
    home.joints += _joints(furniture, instance, pose)
    _label(home, piece)
    frames = {"": Frame(pose)}
    for link in furniture.links:
        joint = first + link.hinge if link.hinge >= 0 else -1
        placed = product(pose, link.pose)
        frames[link.name] = Frame(placed, joint)
        for glb, offset in link.meshes:
            home.add(glb, "left out", product(placed, offset), piece, joint + 1)
    config_path = path.with_suffix(".ao_config.json")
    if config_path.is_file():
        home.receptacles += receptacles_of(piece, instance, _json(config_path), frames, np.full(3, scale))


def _joints(furniture: Furniture, instance: str, pose: np.ndarray) -> list[Joint]:
    found = []
    for hinge in furniture.hinges:
        axis, origin = product(pose[:3, :3], hinge.axis), product(pose[:3, :3], hinge.origin) + pose[:3, 3]
        ends = (float(hinge.lower), float(hinge.upper))
        found.append(Joint(f"{instance}/{hinge.link}", hinge.kind, tuple(axis.tolist()), tuple(origin.tolist()), *ends))
    return found


def _meshes(home: Assembly) -> Meshes:
    """All triangles of the home, world, joint zero."""
    vertices, faces, bodies, colours, labels, offset = [], [], [], [], [], 0
    for mesh, pose, label, body in home.pieces:
        placed = product(mesh.vertices, pose[:3, :3].T) + pose[:3, 3]
        label_of = _face_labels(home, placed, mesh.faces, label)
        vertices.append(placed.astype(np.float32))
        faces.append(mesh.faces + offset)
        bodies.append(np.full(len(mesh.faces), body, np.int16))
        colours.append(_colours(mesh, label))
        labels.append(label_of)
        offset += len(placed)
    empty = np.zeros((0, 3))
    return Meshes(
        vertices=np.concatenate([empty.astype(np.float32), *vertices]),
        faces=np.concatenate([empty.astype(np.int32), *faces]),
        body=np.concatenate([np.zeros(0, np.int16), *bodies]),
        colour=np.concatenate([empty.astype(np.uint8), *colours]),
        label=np.concatenate([np.zeros(0, np.int16), *labels]),
    )


def _face_labels(home: Assembly, vertices: np.ndarray, faces: np.ndarray, label: str) -> np.ndarray:
    """[F] int16: the piece's label; the stage, one mesh in the files, is told apart into floor and the rest."""
    labels = np.full(len(faces), home.labels.index(label), np.int16)
    if label == "wall":
        labels[is_floor(vertices[faces])] = home.labels.index("floor")
    return labels


def _colours(mesh: Triangles, label: str) -> np.ndarray:
    """[F, 3] uint8: the file's colours, else a pale one that is always the same for a label."""
    digits = zlib.crc32(label.encode())
    stable = np.array([120 + (digits >> shift) % 112 for shift in (0, 8, 16)], np.uint8)
    return np.where(mesh.coloured[:, None], mesh.colour, stable)


def _measured_floor(home: Assembly, scene: str, meshes: Meshes) -> Floor:
    stage = np.isin(meshes.label, (home.labels.index("floor"), home.labels.index("wall")))
    if not stage.any():
        raise AssetError(f"{scene} in {home.dataset.folder} has neither a navmesh nor a stage mesh - fetch them, {FETCH}")
    triangles = meshes.vertices[meshes.faces].astype(float)
    return floor_from_triangles(triangles[stage], triangles[~stage])


def _uniquely_named(receptacles: list[Receptacle]) -> tuple[Receptacle, ...]:
    """The same receptacles, those that share a name numbered from 1 (`chair_1`, `chair_2`)."""
    counted, seen, found = Counter(r.name for r in receptacles), Counter(), []
    for receptacle in receptacles:
        seen[receptacle.name] += 1
        numbered = f"{receptacle.name}_{seen[receptacle.name]}"
        found.append(replace(receptacle, name=numbered) if counted[receptacle.name] > 1 else receptacle)
    return tuple(found)


def _no_parts() -> Parts:
    """Parts of a home that has none: its furniture is triangles."""
    shapes = {"center": (0, 3), "rotation": (0, 3, 3), "half": (0, 3), "taper": (0,)}
    floats = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    whole = np.zeros(0, np.int16)
    return Parts(**floats, sides=np.zeros(0, np.uint8), colour=np.zeros((0, 3), np.uint8), body=whole, label=whole)


def _label(home: Assembly, piece: str) -> None:
    if piece not in home.labels:
        home.labels.append(piece)


def _template(item: dict) -> str:
    """A template's name without folders and extensions."""
    return Path(item["template_name"]).name.split(".")[0]


def _piece(item: dict) -> str:
    name = _template(item).removeprefix("frl_apartment_")
    return PIECES.get(name, name)


def _pose(item: dict) -> np.ndarray:
    """[4, 4] of an instance's rotation (w, x, y, z; normalised) and translation."""
    pose = np.eye(4)
    pose[:3, :3] = rotation_of(item.get("rotation", (1, 0, 0, 0)))
    pose[:3, 3] = item.get("translation", (0, 0, 0))
    return pose


def _scaling(item: dict) -> np.ndarray:
    """[4, 4] of the scales that a configuration (`scale`) or an instance may give."""
    factors = float(item.get("uniform_scale", 1.0)) * np.array(item.get("non_uniform_scale", (1, 1, 1)), float)
    return np.diag([*(factors * np.array(item.get("scale", (1, 1, 1)), float)), 1.0])


def _centre_of_mass(config: dict, glb: Path) -> np.ndarray:
    """[3] in the asset's frame: as given, else the middle of the mesh's bounds (Habitat's rule)."""
    if "COM" in config or not glb.is_file():
        return np.array(config.get("COM", (0, 0, 0)), float)
    vertices = read_glb(glb).vertices
    return (vertices.min(axis=0) + vertices.max(axis=0)) / 2


def _asset(config_path: Path) -> Path:
    """The mesh that a configuration shows."""
    try:
        return (config_path.parent / _json(config_path)["render_asset"]).resolve()
    except (KeyError, TypeError) as error:
        raise AssetError(f"{config_path} names no render_asset - fetch it again, {FETCH}") from error


def _open(folder: Path) -> Dataset:
    folder = Path(folder)
    if not folder.is_dir():
        raise AssetError(f"No ReplicaCAD at {folder} - {FETCH}")
    return _index(str(folder.resolve()), folder.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _index(folder: str, _version: int) -> Dataset:
    root = Path(folder)
    config_path = next(iter(sorted(root.glob("*.scene_dataset_config.json"))), None)
    if config_path is None:
        raise AssetError(f"{folder} holds no *.scene_dataset_config.json, so it is not ReplicaCAD - {FETCH}")
    config = _json(config_path)

    def files(kind: str, extension: str, ending: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for place in config.get(kind, {}).get("paths", {}).get(extension, ()):
            for path in sorted(root.glob(place.rstrip("/"))) if ".." not in Path(place).parts else ():
                inside = sorted(path.iterdir()) if path.is_dir() else [path]
                found |= {f.name.removesuffix(ending): f for f in inside if f.name.endswith(ending)}
        return found

    scenes = files("scene_instances", ".json", ".scene_instance.json")
    if not scenes:
        raise AssetError(f"{config_path} leads to no scenes - fetch the dataset again, {FETCH}")
    return Dataset(
        folder=root,
        scenes=scenes,
        stages=files("stages", ".json", ".stage_config.json"),
        objects=files("objects", ".json", ".object_config.json"),
        articulated=files("articulated_objects", ".urdf", ".urdf"),
        navmeshes={name: root / path for name, path in config.get("navmesh_instances", {}).items()},
    )


@lru_cache(maxsize=16)
def _tell_missing(folder: Path) -> None:
    """Warn, once per folder and process, which meshes its configurations name but it does not have."""
    dataset = _open(folder)
    stages, objects = (_missing(dataset, configs) for configs in (dataset.stages, dataset.objects))
    if stages or objects:
        told = [f"walls and floors ({', '.join(stages)})"] if stages else []
        told += [f"furniture ({', '.join(objects)})"] if objects else []
        warnings.warn(f"{folder} lacks {' and '.join(told)}; homes do without", stacklevel=3)


def _missing(dataset: Dataset, configs: dict[str, Path]) -> list[str]:
    found = set()
    for path in configs.values():
        # A damaged configuration is an error of the scenes that use it, not of all others.
        with contextlib.suppress(AssetError):
            found |= {_relative(dataset, glb) for glb in (_asset(path),) if not glb.is_file()}
    return sorted(found)


def _relative(dataset: Dataset, path: Path) -> str:
    return path.relative_to(dataset.folder).as_posix() if path.is_relative_to(dataset.folder) else path.name


def _json(path: Path) -> dict:
    """A JSON file's content; configurations are read once per process and file version."""
    return _parse_json(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=512)
def _parse_json(path: str, _version: int) -> dict:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise AssetError(f"{path} is not valid JSON ({error}) - fetch it again, {FETCH}") from error
    if not isinstance(content, dict):
        raise AssetError(f"{path} should hold a JSON object - fetch it again, {FETCH}")
    return content


def _reason(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)
