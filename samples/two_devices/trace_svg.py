"""Draws a trace of KDL_TRACE, with launches blue, copies orange and waits grey: trace_svg.py TRACE OUT.svg.

Also prints whether the devices worked at the same time."""
import json
import sys

events = json.load(open(sys.argv[1]))
rows = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
spans = [e for e in events if e["ph"] == "X" and "queue" in rows[e["tid"]]]
names = sorted({rows[e["tid"]] for e in spans})
end = max(e["ts"] + e["dur"] for e in spans)
begin = min(e["ts"] for e in spans)
scale = 900 / (end - begin)
COLOURS = {"launch": "#4e79a7", "copy": "#f28e2b", "waits": "#dddddd"}
svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="1100" height="{40 * len(names) + 30}">',
       "<style>text{font:13px sans-serif}</style>"]
for row, name in enumerate(names):
    svg.append(f'<text x="4" y="{40 * row + 32}">{name}</text>')
for e in spans:
    y = 40 * names.index(rows[e["tid"]]) + 14
    colour = COLOURS.get(e["name"].split(" ")[0], "#76b7b2")
    svg.append(f'<rect x="{190 + (e["ts"] - begin) * scale:.1f}" y="{y}" width="{max(e["dur"] * scale, 1):.1f}" '
               f'height="26" fill="{colour}"><title>{e["name"]}: {e["dur"]:.0f} us</title></rect>')
svg.append(f'<text x="190" y="{40 * len(names) + 22}">0</text>')
svg.append(f'<text x="1090" y="{40 * len(names) + 22}" text-anchor="end">{end - begin:.0f} us</text></svg>')
open(sys.argv[2], "w").write("\n".join(svg) + "\n")

launches = [(e["ts"], e["ts"] + e["dur"], rows[e["tid"]]) for e in spans if "launch" in e["name"]]
both = sum(max(0, min(a[1], b[1]) - max(a[0], b[0]))
           for a in launches for b in launches if a[2] < b[2])
print("both devices work at once" if both > 0 else "one device works at a time")
