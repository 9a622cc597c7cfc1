"""How long one call of a peer takes. The same modes as in benches/benches/peers/timing.rs; both sides must measure alike.

single             the device's time of one call; the median of 9
queue              the host's time of calls in a row that take 20 ms (10 to 100 of them), so that what the host spends on one counts;
                   the median of 9
burst              after 0.05 s of rest and 5 calls, the device's time of 20 calls in one CUDA graph
sustained SECONDS  as many such graphs back to back, after 0.1 s of the same that doesn't count

What can't be captured in a graph is called 20 times in a row instead, and its note says so.
"""

import math
import statistics
import time

GRAPH_CALLS, ROUNDS = 20, 9


class Timed:
    def __init__(self, torch, call):
        self.torch, self.call, self.replay, self.note = torch, call, None, ""

    def time(self, mode):
        """Seconds of one call."""
        torch, (name, *seconds) = self.torch, mode.split()
        if name in ("single", "queue"):
            for _ in range(3):
                self.call()
            torch.cuda.synchronize()
            if name == "single":
                return statistics.median(self.events(self.call) for _ in range(ROUNDS))
            count = math.ceil(min(max(0.02 / self.queue(10), 10), 100))
            return statistics.median(self.queue(count) for _ in range(ROUNDS))
        self.capture()
        if name == "burst":
            torch.cuda.synchronize()
            time.sleep(0.05)
            for _ in range(5):
                self.call()
            return self.events(self.replay) / GRAPH_CALLS
        one = self.events(self.replay)
        within = lambda seconds: max(1, math.ceil(seconds / one))
        self.graphs(within(0.1))
        return self.graphs(within(float(seconds[0])))

    def events(self, work):
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3

    def queue(self, count):
        begin = time.perf_counter()
        for _ in range(count):
            self.call()
        self.torch.cuda.synchronize()
        return (time.perf_counter() - begin) / count

    def graphs(self, count):
        def replays():
            for _ in range(count):
                self.replay()

        return self.events(replays) / (count * GRAPH_CALLS)

    def capture(self):
        if self.replay:
            return
        torch = self.torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.call()
        torch.cuda.synchronize()
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="relaxed"):
                for _ in range(GRAPH_CALLS):
                    self.call()
            graph.replay()
            torch.cuda.synchronize()
            self.replay = graph.replay
        except Exception as error:
            self.note = f"not in a graph ({type(error).__name__})"
            self.replay = lambda: [self.call() for _ in range(GRAPH_CALLS)]
