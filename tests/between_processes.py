"""Objects after a trip from one process to another."""

from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.reduction import ForkingPickler
from threading import Thread
from typing import Any


def send(thing: Any) -> Callable[[], Any]:
    """Send a thing through a pipe, as processes do. The function that is returned receives it."""
    packed = bytes(ForkingPickler.dumps(thing))

    def receive() -> Any:
        reader, writer = Pipe(duplex=False)
        # A pipe holds little: the other end must read while this one writes.
        thread = Thread(target=writer.send_bytes, args=(packed,))
        thread.start()
        received = reader.recv()
        thread.join()
        return received

    return receive
