"""HTTP in Python: `python web.py MODE PORT FOLDER`; asyncio, or SQLite behind threads."""

import asyncio
import contextlib
import json
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def text() -> bytes:
    """Return a page that takes about half a millisecond to make."""
    rows = [{"name": f"row {number}", "value": number / 7} for number in range(150)]
    return json.dumps(rows).encode()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of a connection."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            await reader.readuntil(b"\r\n\r\n")
            page = text()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(page) + page)
            await writer.drain()
    writer.close()


async def in_one_thread(port: int) -> None:
    """Serve all connections by one event loop."""
    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=128)
    await server.serve_forever()


def over_sqlite(port: int, folder: Path) -> None:
    """Count visits in a database: each is a durable transaction, one at a time."""
    database = sqlite3.connect(folder / "visits.db", check_same_thread=False, isolation_level=None)
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE IF NOT EXISTS visits (path TEXT PRIMARY KEY, count INTEGER)")
    lock = threading.Lock()

    class Count(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            with lock:
                database.execute(
                    "INSERT INTO visits VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
                    (self.path,),
                )
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"1\n")

        def log_message(self, *_: object) -> None:
            pass

    ThreadingHTTPServer.request_queue_size = 128
    ThreadingHTTPServer(("127.0.0.1", port), Count).serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "loop":
        asyncio.run(in_one_thread(int(sys.argv[2])))
    over_sqlite(int(sys.argv[2]), Path(sys.argv[3]))
