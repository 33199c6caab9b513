"""Draws the state diagrams of the documents as SVG with Graphviz, so that the site needs no script.

The documents use this part of Mermaid's language, which other web pages of Git repositories draw by
themselves:

    stateDiagram-v2
        [*] --> waiting
        waiting --> holding : granted
"""

import re
import subprocess

TRANSITION = re.compile(r"\s*(\[\*\]|\w+) --> (\[\*\]|\w+)(?:\s*: *(.*))?")


def graph_of(text):
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or lines[0].strip() != "stateDiagram-v2":
        raise ValueError(f"not a state diagram: {text}")
    out = [
        "digraph {",
        'bgcolor="transparent"; rankdir=TB; nodesep=0.5;',
        'node [shape=box, style=rounded, fontname="sans-serif", fontsize=11, height=0.3];',
        'edge [fontname="sans-serif", fontsize=9, arrowsize=0.6];',
        'begin [shape=circle, label="", style=filled, fillcolor=gray, width=0.15];',
        'end [shape=doublecircle, label="", style=filled, fillcolor=gray, width=0.1];',
    ]
    for line in lines[1:]:
        match = TRANSITION.fullmatch(line)
        if not match:
            raise ValueError(f"not a transition: {line}")
        source, target, label = match.groups()
        source, target = source.replace("[*]", "begin"), target.replace("[*]", "end")
        # A long label has several lines.
        label = re.sub(r"(.{18,}?) ", r"\1\\n", label or "")
        out.append(f'{source} -> {target} [label="{label}"];')
    return "\n".join([*out, "}"])


def svg_of(text):
    drawn = subprocess.run(["dot", "-Tsvg"], input=graph_of(text), capture_output=True, text=True, check=True).stdout
    svg = drawn[drawn.index("<svg") :].strip()
    # One line, because Markdown ends HTML at a blank line.
    return re.sub(r"<!--.*?-->|\n", " ", svg, flags=re.S)
