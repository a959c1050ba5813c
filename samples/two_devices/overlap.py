"""Says whether the devices worked at the same time, by a trace of KDL_TRACE: overlap.py TRACE"""
import json
import sys

events = json.load(open(sys.argv[1]))
rows = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
launches = [(e["ts"], e["ts"] + e["dur"], rows[e["tid"]])
            for e in events if e["ph"] == "X" and "queue" in rows[e["tid"]] and "launch" in e["name"]]
both = sum(max(0, min(a[1], b[1]) - max(a[0], b[0]))
           for a in launches for b in launches if a[2] < b[2])
print("both devices work at once" if both > 0 else "one device works at a time")
