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
:root { color-scheme: light dark; --ink: #1f2328; --faint: #59636e; --line: #d8dee4; --soft: #f6f8fa; --accent: #0b5cad;
        --page: #fff; --warn: #fff6e9; --edge: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --faint: #9aa7b4; --line: #30363d; --soft: #161b22; --accent: #6cb6ff; --page: #0d1117;
          --warn: #2b2111; --edge: #d29922; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
       background: var(--page); }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; } h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; }
.headline { font-size: 1.1rem; max-width: 60rem; margin: .4rem 0; }
.lead, .note, figcaption { color: var(--faint); } .note, figcaption { font-size: .85rem; margin: .3rem 0; max-width: 60rem; }
nav { margin: 1rem 0; display: flex; flex-wrap: wrap; gap: .4rem 1rem; font-size: .9rem; } a { color: var(--accent); }
.wide { margin: 1rem 0; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; white-space: normal; caption-side: top; }
th, td { padding: .28rem .5rem; border-bottom: 1px solid var(--line); text-align: left; }
th { background: var(--soft); border-bottom: 2px solid var(--line); }
th.number { text-align: right; }
td.number { text-align: right; } td.none { text-align: right; color: var(--faint); } tr.paper td { color: var(--faint); }
figure { margin: 1rem 0; } figure.drawing { overflow-x: auto; }
img, video { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; }
img { background: #fff; width: 100%; max-width: 62rem; min-width: 34rem; padding: .4rem; }
.films { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; }
.films figure { margin: 0; }
pre { background: var(--soft); padding: .8rem 1rem; overflow-x: auto; font-size: .82rem; border-radius: 6px; }
.warning { border-left: 4px solid var(--edge); background: var(--warn); padding: .4rem .8rem; margin: .6rem 0;
           font-size: .9rem; }
@media (max-width: 40rem) { body { padding: 1rem .8rem; } h1 { font-size: 1.35rem; } .headline { font-size: 1rem; } }
@media print { nav { display: none; } body { max-width: none; } img { min-width: 0; } }
"""


@dataclass(frozen=True)
class Picture:
    """A figure or film of the report, as a file in the folder."""

    path: Path
    title: str
    words: str = ""


@dataclass(frozen=True)
class Section:
    """A heading and what is below it, in this order."""

    anchor: str
    title: str
    words: str = ""
    """A sentence below the heading, where there is anything else."""
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    films: Sequence[Picture] = ()
    text: str = ""
    """Shown as it is, in a box."""


def write_page(title: str, lead: Sequence[str], warnings: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole page. lead: sentences below the title, the last one smaller."""
    shown = [s for s in sections if s.tables or s.pictures or s.films or s.text]
    sentences = "".join(f"<p class=headline>{html.escape(line)}</p>" for line in lead[:-1])
    sentences += "".join(f"<p class=lead>{html.escape(line)}</p>" for line in lead[-1:])
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
            f"<h1>{html.escape(title)}</h1>{sentences}",
            f"<nav>{links}</nav>{told}",
            *(_section(section) for section in shown),
            "</body></html>",
            "",
        ]
    )


def _section(section: Section) -> str:
    parts = [f'<section id="{section.anchor}"><h2>{html.escape(section.title)}</h2>']
    parts += [f"<p>{html.escape(section.words)}</p>"] if section.words else []
    parts += [_picture(picture) for picture in section.pictures]
    parts += [f"<div class=wide>{page(table, section.title)}</div>" for table in section.tables]
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
    drawing = "" if kind.startswith("video") else " class=drawing"
    return f"<figure{drawing}>{shown}<figcaption><b>{title}</b>{'. ' + words if words else ''}</figcaption></figure>"
