"""The loop that someone writes in ten minutes in Python: requests and sqlite3, one page after the other."""
import json
import resource
import sqlite3
import sys
import requests

job = json.loads(sys.argv[1])
columns = job["columns"]
db = sqlite3.connect(job["out"])
names = ", ".join(f'"{name}"' for name in columns)
db.execute(f'CREATE TABLE "Sale" (_id INTEGER PRIMARY KEY, {names})')
insert = f'INSERT INTO "Sale" VALUES (?{", ?" * len(columns)})'
session = requests.Session()
session.headers["Authorization"] = f"Bearer {job['token']}"
params = [("column", name) for name in columns] + [("sort", "Id"), ("top", job["pageRows"])]
for skip in range(0, job["rowCount"], job["pageRows"]):
    rows = session.get(job["url"], params=[*params, ("skip", skip)]).json()
    with db:
        db.executemany(insert, [[row["@row.id"], *[row[name] for name in columns]] for row in rows])
db.close()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
