"""A SQL client in Python: one JSON line in for every transaction, one out for what became of it.

In: {"begin", "statements", "holdMs", "end"}. Out: {"error": null} once it is committed, or what SQLite said; one that is held
open says {"held": true} before.
"""

import json
import sqlite3
import sys
import time

db = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
for line in sys.stdin:
    job = json.loads(line)
    error = None
    try:
        db.execute(job["begin"])
        for statement in job["statements"]:
            db.execute(statement).fetchall()
        if job["holdMs"] > 0:
            print(json.dumps({"held": True}), flush=True)
            time.sleep(job["holdMs"] / 1000)
        db.execute(job["end"])
    except sqlite3.Error as thrown:
        error = str(thrown)
        if db.in_transaction:
            db.execute("ROLLBACK")
    print(json.dumps({"error": error}), flush=True)
