"""A web server on this machine that misbehaves as asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Behaviour:
    """What the server has, how it fails, and what it was asked for."""

    files: dict[str, bytes]
    tag: str = '"one"'
    #: Bytes after which the connection is cut, one number per request; none left: not at all.
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    chunked: bool = False
    wrong_start: int = 0
    status: int = 200
    requests: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[str]:
    """The address of a server that lives as long as the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            behaviour.requests.append(dict(self.headers))
            self.close_connection = True
            content = behaviour.files.get(self.path.rpartition("/")[2])
            if behaviour.status != 200 or content is None:
                self.send_error(behaviour.status if behaviour.status != 200 else 404)
                return
            start = self._start(len(content))
            if start is None:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = content[start:]
            self.send_response(206 if start else 200)
            if behaviour.tag:
                self.send_header("ETag", behaviour.tag)
            if start:
                shown = start + behaviour.wrong_start
                size = len(content)
                self.send_header("Content-Range", f"bytes {shown}-{size - 1}/{size}")
            if behaviour.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cut = behaviour.cuts.pop(0) if behaviour.cuts else len(body)
            if behaviour.chunked:
                self.wfile.write(f"{len(body):x}\r\n".encode())
            self.wfile.write(body[:cut])
            if behaviour.chunked and cut >= len(body):
                self.wfile.write(b"\r\n0\r\n\r\n")

        def _start(self, size: int) -> int | None:
            asked = self.headers.get("Range")
            if not asked or not behaviour.ranges:
                return 0
            if self.headers.get("If-Range") != behaviour.tag:
                return 0
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            return start if start < size else None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/data"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
