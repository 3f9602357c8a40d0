"""A ReplicaCAD folder of a few files, made by hand for tests: one room of 6 x 4 m, a table, a chest with a drawer."""

import json
import struct

import numpy as np

SCENE = "v3_sc0_staging_00"
TABLE = (1.0, 0.7, 0.6)
"""Size of the table, a closed box with its origin in the middle."""


def write_glb(path, triangles, material=None, colours=None):
    """A GLB file of triangles [T, 3, 3] with one material and, if given, vertex colours [T, 3, 3]."""
    points = np.ascontiguousarray(triangles, "<f4").tobytes()
    binary = points + (b"" if colours is None else np.ascontiguousarray(colours, "<f4").tobytes())
    attributes = {"POSITION": 0} | ({} if colours is None else {"COLOR_0": 1})
    accessor = {"componentType": 5126, "count": 3 * len(triangles), "type": "VEC3"}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": attributes} | ({} if material is None else {"material": 0})]}],
        "materials": [material or {}],
        "bufferViews": [{"buffer": 0, "byteOffset": k * len(points), "byteLength": len(points)} for k in attributes.values()],
        "buffers": [{"byteLength": len(binary)}],
        "accessors": [accessor | {"bufferView": k} for k in attributes.values()],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sIII4s", b"glTF", 2, 28 + len(text) + len(binary), len(text), b"JSON")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary)


def quad(a, b, c, d):
    """Two triangles of a quadrilateral."""
    return np.array([[a, b, c], [a, c, d]], float)


def box(size, middle=(0.0, 0.0, 0.0)):
    """Triangles [12, 3, 3] of a closed box, counter-clockwise from outside."""
    x, y, z = np.array(size) / 2
    faces = [
        quad((-x, y, z), (x, y, z), (x, y, -z), (-x, y, -z)),
        quad((-x, -y, -z), (x, -y, -z), (x, -y, z), (-x, -y, z)),
        quad((-x, -y, z), (x, -y, z), (x, y, z), (-x, y, z)),
        quad((x, -y, -z), (-x, -y, -z), (-x, y, -z), (x, y, -z)),
        quad((x, -y, z), (x, -y, -z), (x, y, -z), (x, y, z)),
        quad((-x, -y, -z), (-x, -y, z), (-x, y, z), (-x, y, -z)),
    ]
    return np.concatenate(faces) + np.array(middle)


def room(width=6.0, depth=4.0, height=2.5):
    """Triangles of a floor at y = 0 and four walls around it, from (0, 0) to (width, depth)."""
    corners = [(0, 0, 0), (width, 0, 0), (width, 0, depth), (0, 0, depth)]
    up = np.array([0, height, 0])
    walls = [quad(a, b, np.array(b) + up, np.array(a) + up) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]
    return np.concatenate([quad(*corners[::-1]), *walls])


def write_json(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def write_dataset(folder, table=None, table_config=None):
    """The whole folder, without a navmesh; `table` and `table_config` change the table's instance and configuration."""
    write_json(
        folder / "replicaCAD.scene_dataset_config.json",
        {
            "stages": {"paths": {".json": ["configs/stages"]}},
            "objects": {"paths": {".json": ["configs/objects"]}},
            "articulated_objects": {"paths": {".urdf": ["urdf/*/", "../elsewhere/robot.urdf"]}},
            "scene_instances": {"paths": {".json": ["configs/scenes"]}},
            "navmesh_instances": {SCENE: f"navmeshes/{SCENE}.navmesh"},
        },
    )
    write_json(folder / "configs/stages/stage.stage_config.json", {"render_asset": "../../stages/stage.glb"})
    volume = {"parent_object": "frl_apartment_table_01", "position": [0.0, 0.45, 0.0], "scale": [0.5, 0.1, 0.3]}
    config = {
        "render_asset": "../../objects/table.glb",
        "COM": [0, 0, 0],
        "user_defined": {"receptacle_aabb_Tbl1_Top1_frl_apartment_table_01": volume},
    }
    write_json(folder / "configs/objects/frl_apartment_table_01.object_config.json", config | (table_config or {}))
    instance = {"template_name": "frl_apartment_table_01", "translation": [3.0, 0.35, 2.0], "rotation": [1, 0, 0, 0]}
    chest = {"template_name": "chest", "translation": [0.5, 0.5, 3.0], "rotation": [2, 0, 0, 0], "uniform_scale": 0.5}
    write_json(
        folder / f"configs/scenes/{SCENE}.scene_instance.json",
        {
            "stage_instance": {"template_name": "stage"},
            "navmesh_instance": SCENE,
            "object_instances": [instance | (table or {})],
            "articulated_object_instances": [chest],
        },
    )
    write_glb(folder / "stages/stage.glb", room())
    write_glb(folder / "objects/table.glb", box(TABLE), {"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}})
    write_glb(folder / "urdf/chest/body.glb", box((1, 2, 1)))
    write_glb(folder / "urdf/chest/drawer.glb", box((0.2, 0.5, 0.9)))
    (folder / "urdf/chest/chest.urdf").write_text(
        """<robot name="chest"><link name="root"/>
        <link name="body"><visual><geometry><mesh filename="body.glb" scale="1, 1, 1"/></geometry></visual></link>
        <link name="drawer"><visual><geometry><mesh filename="drawer.glb"/></geometry></visual></link>
        <joint name="fix" type="fixed"><parent link="root"/><child link="body"/></joint>
        <joint name="slide" type="prismatic"><origin xyz="0.5 0.4 0"/><parent link="body"/><child link="drawer"/>
        <axis xyz="1 0 0"/><limit lower="0" upper="0.8"/></joint></robot>"""
    )
    return folder
