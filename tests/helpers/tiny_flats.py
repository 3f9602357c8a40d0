"""A ReplicaCAD folder made by hand in which robots can work: one room with all ten receptacles, and layouts of it by name."""

import json
from pathlib import Path

from helpers.tiny_replicacad import box, room, write_glb, write_json

WIDTH, DEPTH = 9.0, 7.0
LAYOUTS = ("v3_sc0_staging_00", "v3_sc1_staging_01", "v3_sc2_staging_15", "v3_sc0_staging_18", "v3_sc1_staging_19")
"""Two to train in, one of dev, two that stand in for macro 3."""
OPEN = {
    "chair_01": ("Chr1_Top1", (0.6, 0.4, 0.6)),
    "table_01": ("Tbl1_Top1", (1.2, 0.7, 0.8)),
    "table_02": ("Tbl2_Top1", (1.2, 0.9, 0.8)),
    "tvstand": ("TvStnd1_Top1", (1.4, 0.6, 0.5)),
    "sofa": ("Sofa", (1.6, 0.4, 0.8)),
}
"""Pieces that stand still: the name of the volume on top, and their size in metres."""
PLACES = {
    "chair_01": [(4.0, 3.2), (7.6, 3.2)],
    "table_01": [(5.8, 5.2)],
    "table_02": [(3.4, 6.2)],
    "tvstand": [(7.6, 0.6)],
    "sofa": [(7.4, 6.2)],
}
"""Where they stand (x, z)."""
COUNTER = """<robot name="kitchen_counter"><link name="root"/>
<link name="body"><visual><geometry><mesh filename="body.glb"/></geometry></visual></link>
<link name="drawer3"><visual><geometry><mesh filename="drawer.glb"/></geometry></visual></link>
<link name="drawer1_top"><visual><geometry><mesh filename="drawer.glb"/></geometry></visual></link>
<joint name="fix" type="fixed"><parent link="root"/><child link="body"/></joint>
<joint name="slide3" type="prismatic"><origin xyz="0 0.55 -0.8"/><parent link="body"/><child link="drawer3"/>
<axis xyz="1 0 0"/><limit lower="0" upper="0.5"/></joint>
<joint name="slide1" type="prismatic"><origin xyz="0 0.55 0.8"/><parent link="body"/><child link="drawer1_top"/>
<axis xyz="1 0 0"/><limit lower="0" upper="0.5"/></joint></robot>"""
FRIDGE = """<robot name="fridge"><link name="root"/>
<link name="body"><visual><geometry><mesh filename="body.glb"/></geometry></visual></link>
<link name="top_door"><visual><geometry><mesh filename="door.glb"/></geometry></visual></link>
<joint name="fix" type="fixed"><parent link="root"/><child link="body"/></joint>
<joint name="hinge" type="revolute"><origin xyz="0.3 1.2 -0.3"/><parent link="body"/><child link="top_door"/>
<axis xyz="0 1 0"/><limit lower="0" upper="2.3"/></joint></robot>"""


def write_flats(folder: Path, layouts: tuple[str, ...] = LAYOUTS) -> Path:
    """A folder with these layouts; the micro's number moves the tables a little, so that every layout is another home."""
    write_json(
        folder / "replicaCAD.scene_dataset_config.json",
        {
            "stages": {"paths": {".json": ["configs/stages"]}},
            "objects": {"paths": {".json": ["configs/objects"]}},
            "articulated_objects": {"paths": {".urdf": ["urdf/*/"]}},
            "scene_instances": {"paths": {".json": ["configs/scenes"]}},
        },
    )
    write_json(folder / "configs/stages/stage.stage_config.json", {"render_asset": "../../stages/stage.glb"})
    write_glb(folder / "stages/stage.glb", room(WIDTH, DEPTH))
    for piece, (volume, size) in OPEN.items():
        _write_piece(folder, piece, volume, size)
    _write_kitchen(folder)
    for layout in layouts:
        write_json(folder / f"configs/scenes/{layout}.scene_instance.json", _scene(int(layout[-2:])))
    return folder


def _write_piece(folder: Path, piece: str, volume: str, size: tuple[float, float, float]) -> None:
    name = f"frl_apartment_{piece}"
    top = {"parent_object": name, "position": [0.0, size[1] / 2 + 0.15, 0.0], "scale": [size[0] / 2, 0.15, size[2] / 2]}
    config = {"render_asset": f"../../objects/{piece}.glb", "COM": [0, 0, 0]}
    config["user_defined"] = {f"receptacle_aabb_{volume}_{name}": top}
    write_json(folder / f"configs/objects/{name}.object_config.json", config)
    write_glb(folder / f"objects/{piece}.glb", box(size))


def _write_kitchen(folder: Path) -> None:
    """The counter with two drawers and the fridge, both with the front towards +x."""

    def volume(link: str, position: list[float], scale: list[float], parent: str) -> dict:
        return {"parent_object": parent, "parent_link": link, "position": position, "scale": scale}

    counter = {
        "counter_left": volume("body", [0.0, 1.05, 0.8], [0.28, 0.15, 0.4], "kitchen_counter"),
        "counter_right": volume("body", [0.0, 1.05, -0.8], [0.28, 0.15, 0.4], "kitchen_counter"),
        "sink": volume("body", [0.0, 1.05, 0.0], [0.15, 0.15, 0.2], "kitchen_counter"),
        "drawer_right_top": volume("drawer3", [0.0, 0.05, 0.0], [0.24, 0.12, 0.35], "kitchen_counter"),
        "drawer_left_top": volume("drawer1_top", [0.0, 0.05, 0.0], [0.24, 0.12, 0.35], "kitchen_counter"),
    }
    fridge = {"middle_top": volume("body", [0.0, 1.4, 0.0], [0.27, 0.16, 0.29], "fridge")}
    for name, urdf, volumes in (("kitchen_counter", COUNTER, counter), ("fridge", FRIDGE, fridge)):
        place = folder / "urdf" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.urdf").write_text(urdf)
        told = {f"receptacle_aabb_{key}_{name}": entry for key, entry in volumes.items()}
        (place / f"{name}.ao_config.json").write_text(json.dumps({"user_defined": told}))
    write_glb(folder / "urdf/kitchen_counter/body.glb", box((0.6, 0.9, 2.6), (0, 0.45, 0)))
    write_glb(folder / "urdf/kitchen_counter/drawer.glb", box((0.5, 0.02, 0.75), (0, -0.08, 0)))
    write_glb(folder / "urdf/fridge/body.glb", box((0.6, 1.24, 0.6), (0, 0.62, 0)))
    write_glb(folder / "urdf/fridge/door.glb", box((0.05, 1.2, 0.6), (0.02, 0, 0.3)))


def _scene(micro: int) -> dict:
    pieces = []
    for piece, places in PLACES.items():
        for k, (x, z) in enumerate(places):
            shift = 0.02 * (micro % 7) * (1 if k % 2 else -1)
            height = OPEN[piece][1][1] / 2
            pieces.append(
                {"template_name": f"frl_apartment_{piece}", "translation": [x + shift, height, z], "rotation": [1, 0, 0, 0]}
            )
    return {
        "stage_instance": {"template_name": "stage"},
        "object_instances": pieces,
        "articulated_object_instances": [
            {"template_name": "kitchen_counter", "translation": [0.4, 0.0, 3.5], "rotation": [1, 0, 0, 0]},
            {"template_name": "fridge", "translation": [0.4, 0.0, 1.4], "rotation": [1, 0, 0, 0]},
        ],
    }
