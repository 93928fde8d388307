"""What some work has taken so far."""

import time

_MOST_OF_WALL = 4


class SpentTime:
    """In seconds: processor time of this thread, so that a busy machine gets as far as an idle one, but a quarter of the wall time at least."""

    def __init__(self):
        self._processor, self._wall = time.thread_time(), time.perf_counter()

    def seconds(self):
        return max(time.thread_time() - self._processor, (time.perf_counter() - self._wall) / _MOST_OF_WALL)
