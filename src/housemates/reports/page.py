"""The report as one HTML page that asks nothing of the network: tables, figures and films are inside it."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from housemates.reports.tables import Table, page

KINDS = {".png": "image/png", ".mp4": "video/mp4", ".gif": "image/gif"}
POLICY = "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'"
STYLE = """
:root { --ink: #1f2328; --faint: #656d76; --line: #d8dee4; --soft: #f6f8fa; --accent: #0b5cad; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 78rem; padding: 1.5rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
       background: #fff; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
.lead, .note, figcaption { color: var(--faint); } .note, figcaption { font-size: .85rem; margin: .3rem 0; }
nav { margin: 1rem 0; display: flex; flex-wrap: wrap; gap: .4rem 1rem; font-size: .9rem; } a { color: var(--accent); }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; white-space: normal; }
th, td { padding: .28rem .5rem; border-bottom: 1px solid var(--line); text-align: left; }
th { background: var(--soft); border-bottom: 2px solid var(--line); }
th.number { text-align: right; }
td.number { text-align: right; } td.none { text-align: right; color: #9aa3ad; } tr.paper td { color: var(--faint); }
figure { margin: 1rem 0; max-width: 62rem; }
img, video { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; }
.films { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; }
.films figure { margin: 0; }
pre { background: var(--soft); padding: .8rem 1rem; overflow-x: auto; font-size: .82rem; border-radius: 6px; }
.warning { border-left: 4px solid #b35900; background: #fff6e9; padding: .4rem .8rem; margin: .6rem 0; font-size: .9rem; }
"""


@dataclass(frozen=True)
class Picture:
    """A figure or film of the report, as it lies in the folder."""

    path: Path
    title: str
    words: str = ""


@dataclass(frozen=True)
class Section:
    """A heading with whatever stands below it, in this order."""

    anchor: str
    title: str
    words: str = ""
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    films: Sequence[Picture] = ()
    text: str = ""
    """Shown as it is, in a box."""


def write_page(title: str, lead: str, warnings: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole page."""
    shown = [s for s in sections if s.tables or s.pictures or s.films or s.text or s.words]
    links = "".join(f'<a href="#{s.anchor}">{html.escape(s.title)}</a>' for s in shown)
    told = "".join(f"<p class=warning>{html.escape(warning)}</p>" for warning in warnings)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{html.escape(title)}</h1><p class=lead>{html.escape(lead)}</p>",
            f"<nav>{links}</nav>{told}",
            *(_section(section) for section in shown),
            "</body></html>",
            "",
        ]
    )


def _section(section: Section) -> str:
    parts = [f'<section id="{section.anchor}"><h2>{html.escape(section.title)}</h2>']
    parts += [f"<p>{html.escape(section.words)}</p>"] if section.words else []
    parts += [f"<div class=wide>{page(table)}</div>" for table in section.tables]
    parts += [_picture(picture) for picture in section.pictures]
    if section.films:
        parts.append(f"<div class=films>{''.join(_picture(film) for film in section.films)}</div>")
    parts += [f"<pre>{html.escape(section.text)}</pre>"] if section.text else []
    return "\n".join([*parts, "</section>"])


def _picture(picture: Picture) -> str:
    kind = KINDS[picture.path.suffix]
    data = f"data:{kind};base64,{base64.b64encode(picture.path.read_bytes()).decode()}"
    title, words = html.escape(picture.title), html.escape(picture.words)
    shown = f'<img src="{data}" alt="{title}">'
    if kind.startswith("video"):
        shown = f'<video src="{data}" controls muted loop playsinline preload="auto" aria-label="{title}"></video>'
    return f"<figure>{shown}<figcaption><b>{title}</b>{'. ' + words if words else ''}</figcaption></figure>"
