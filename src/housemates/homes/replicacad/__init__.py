"""Real ReplicaCAD scenes as homes: files, receptacles, floors."""
