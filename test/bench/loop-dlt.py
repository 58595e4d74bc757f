"""The same with dlt, for whom it copies pages to a SQLite file in three steps: extract, normalize, load."""
import json
import os
import re
import resource
import sys
import dlt
from dlt.sources.helpers import requests

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
job = json.loads(sys.argv[1])


@dlt.resource(name="Sale", write_disposition="replace", primary_key="@row.id")
def sale():
    columns = [("column", name) for name in job["columns"]]
    for skip in range(0, job["rowCount"], job["pageRows"]):
        query = [*columns, ("sort", "Id"), ("top", job["pageRows"]), ("skip", skip)]
        yield requests.get(job["url"], params=query, headers={"Authorization": f"Bearer {job['token']}"}).json()


pipeline = dlt.pipeline(
    pipeline_name="bench",
    pipelines_dir=f"{job['out']}-pipelines",
    destination=dlt.destinations.sqlalchemy(f"sqlite:///{job['out']}"),
    dataset_name="main",
)
pipeline.run(sale())
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
with open("/proc/self/status") as status:
    peak = re.search(r"VmHWM:\s+(\d+)", status.read())[1]
print(peak, round(sum(each.ru_utime + each.ru_stime for each in used) * 1000), file=sys.stderr)
