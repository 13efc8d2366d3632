"""A server for tests: `fake_server.py PORT [MODE]` answers each connection with its process number.

Modes: `stubborn` ignores SIGTERM, `dies` ends at once, `deaf` never listens, `mortal` ends at its
second connection (the first one is the health check), `child` starts one more process.
"""

import os
import signal
import socket
import subprocess
import sys


def main() -> None:
    """Serve until a signal."""
    port, mode = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    if mode == "dies":
        sys.exit("the disk is on fire")
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "child":
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if mode == "deaf":
        signal.pause()
    with socket.create_server(("127.0.0.1", port)) as server:
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        for count in range(1_000_000):
            if mode == "mortal" and count == 1:
                sys.exit("the second visitor was too much")
            connection, _ = server.accept()
            with connection:
                connection.sendall(f"{os.getpid()}\n".encode())


if __name__ == "__main__":
    main()
