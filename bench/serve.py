"""Load on `onkel serve`, server and clients on this machine: python bench/serve.py [--check] [--seconds 5] [--learner "PKAWV()"]

Each rate stands beside what its parts do alone in the same run: SQLite, which writes a transaction for each request; uvicorn, which
takes the same requests and answers at once; and the learner, which learns the same blocks. The server must reach half of the
lowest.
A prediction must not wait longer than for one block: its 99th percentile is at most three times the time to learn the
largest block.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from rich.console import Console
from rich.table import Table
from timing import Verdicts

import onkel
from onkel.client import Client
from onkel.serve.messages import Settings
from onkel.serve.server import Place, serve
from onkel.serve.store import Store
from onkel.serve.version import Version
from onkel.serve.work import MOST_TOGETHER

HOST = "127.0.0.1"
ROWS, COLUMNS = 4096, 10
TOGETHER = 64  # rows of a request
FEW, MANY = 8, 64  # clients
LEAST_SHARE = 0.5  # of the lower limit

CONTEXT = multiprocessing.get_context("spawn")


class Load(NamedTuple):
    rows: float  # a second
    latencies: list[float]  # seconds, sorted

    def quantile(self, share: float) -> float:
        return 1e3 * self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))]


def rows() -> list[dict[str, float]]:
    X, y = onkel.data.friedman(ROWS, dim=COLUMNS, seed=0)
    return [{**{f"x{k}": value for k, value in enumerate(x)}, "y": label} for x, label in zip(X.tolist(), y.tolist(), strict=True)]


def request(path: str, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def _client(port: int, requests: list[bytes], until: float, latencies: list[float], pause: float) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    number = 0
    while time.perf_counter() < until:
        began = time.perf_counter()
        writer.write(requests[number % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        assert head.startswith(b"HTTP/1.1 200"), head
        latencies.append(time.perf_counter() - began)
        number += 1
        if pause:
            await asyncio.sleep(max(0.0, pause - (time.perf_counter() - began)))
    writer.close()


def load(port: int, requests: list[bytes], clients: int, rows_each: int, seconds: float, pause: float = 0.0) -> Load:
    """The requests, sent by so many clients, each one after the other. `pause`: seconds between the requests of a client."""
    latencies: list[float] = []

    async def all_clients() -> None:
        until = time.perf_counter() + seconds
        shares = [requests[k::clients] or requests for k in range(clients)]
        await asyncio.gather(*(_client(port, share, until, latencies, pause) for share in shares))

    asyncio.run(all_clients())
    return Load(rows_each * len(latencies) / seconds, sorted(latencies))


def _answers_at_once(port: int) -> None:
    async def app(scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body", False):
            pass
        body = b'{"predictions":[1.0],"sequence":1}'
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(body)).encode())]})
        await send({"type": "http.response.body", "body": body})

    uvicorn.run(app, host=HOST, port=port, log_level="warning", access_log=False, lifespan="off")


def _say(said: str) -> None:
    return None


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


@contextmanager
def running(target: Callable[..., None], *arguments: Any, port: int) -> Iterator[int]:
    process = CONTEXT.Process(target=target, args=arguments, daemon=True)
    process.start()
    until = time.monotonic() + 60.0
    while time.monotonic() < until:
        try:
            socket.create_connection((HOST, port), 1.0).close()
            break
        except OSError:
            time.sleep(0.05)
    try:
        yield port
    finally:
        process.terminate()
        process.join()


def sqlite_alone(folder: Path, each: list[bytes], seconds: float) -> float:
    """Transactions a second, each with one block of these bytes."""
    store = Store(folder)
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        with store.transaction():
            store.add_block(1, done + 1, each[done % len(each)])
        done += 1
    store.close()
    return done / (time.perf_counter() - began)


def learner_alone(learner: str, data: list[Any], together: int) -> float:
    """Seconds to learn a block of so many rows."""
    version = Version(Settings(target="y", learner=learner).model())
    taken = []
    for k in range(0, len(data) - together + 1, together):
        began = time.perf_counter()
        version, _ = version.learn(data[k : k + together])
        taken.append(time.perf_counter() - began)
    return statistics.median(taken[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each load")
    parser.add_argument("--learner", default="PKAWV()", help="what learns")
    chosen = parser.parse_args()
    data, seconds = rows(), chosen.seconds
    many = [request("/models/m/learn", {"rows": data[k : k + TOGETHER]}) for k in range(0, ROWS, TOGETHER)]
    single = [request("/models/m/learn", {"rows": [row]}) for row in data]
    predict = [request("/models/m/predict", {"rows": [row]}) for row in data[:256]]
    with tempfile.TemporaryDirectory() as folder:
        blocks = [json.dumps(data[k : k + TOGETHER]).encode() for k in range(0, ROWS, TOGETHER)]
        commits = sqlite_alone(Path(folder, "alone"), blocks, seconds)
        port = free_port()
        with running(_answers_at_once, port, port=port):
            alone_many, alone_single = load(port, many, FEW, TOGETHER, seconds), load(port, single, MANY, 1, seconds)
        port = free_port()
        with running(serve, Path(folder, "served"), Place(port=port), _say, port=port):
            with Client(f"http://{HOST}:{port}") as client:
                client.create("m", "y", chosen.learner)
                client.learn("m", data[:512])
            served_many = load(port, many, FEW, TOGETHER, seconds)
            served_single = load(port, single, MANY, 1, seconds)
            pause = 2.0 * FEW * TOGETHER / served_many.rows
            with CONTEXT.Pool(1) as other:
                learning = other.apply_async(load, (port, many, FEW, TOGETHER, seconds + 1.0, pause))
                time.sleep(0.5)
                meanwhile = load(port, predict, 1, 1, seconds, 0.005)
                learning.get()
    block, largest = learner_alone(chosen.learner, data, TOGETHER), learner_alone(chosen.learner, data, MOST_TOGETHER)
    learnt = TOGETHER / block
    limits = {"many": min(commits * TOGETHER, alone_many.rows, learnt), "single": min(commits, alone_single.rows, learnt)}
    console, verdicts = Console(highlight=False), Verdicts()
    shown = Table(title=f"{chosen.learner}, {COLUMNS} columns, {seconds:g} s each", box=None, title_justify="left")
    for heading in ("", "rows a second", "median ms", "99% ms"):
        shown.add_column(heading, justify="right" if heading else "left")
    lines = {
        f"learn, requests of {TOGETHER}, {FEW} clients": served_many, "  uvicorn alone": alone_many,
        f"learn, single rows, {MANY} clients": served_single, "  uvicorn alone ": alone_single,
        "predict, while learning at half of the first rate": meanwhile,
    }  # fmt: skip
    for name, found in lines.items():
        shown.add_row(name, f"{found.rows:,.0f}", f"{1e3 * statistics.median(found.latencies):.1f}", f"{found.quantile(0.99):.1f}")
    shown.add_row("SQLite alone: transactions a second", f"{commits:,.0f}", f"{1e3 / commits:.1f}", "")
    shown.add_row(f"the learner alone, blocks of {TOGETHER}", f"{learnt:,.0f}", f"{1e3 * block:.1f}", "")
    console.print(shown, "")
    verdicts.at_least(f"learn, requests of {TOGETHER}: part of the lowest limit", served_many.rows / limits["many"], LEAST_SHARE)
    verdicts.at_least("learn, single rows: part of the lowest limit", served_single.rows / limits["single"], LEAST_SHARE)
    verdicts.at_most(f"predict while learning, 99%: blocks of {MOST_TOGETHER}", meanwhile.quantile(0.99) / largest / 1e3, 3.0)
    verdicts.show(chosen.check)


if __name__ == "__main__":
    main()
