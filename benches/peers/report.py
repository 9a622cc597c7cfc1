"""Tables, CSV and the roofline."""

import csv
import math
from dataclasses import dataclass, field


@dataclass
class Result:
    """The times of one row in one mode, by contender; None where there is none."""

    row: object
    mode: str
    seconds: dict
    notes: dict = field(default_factory=dict)

    def speed(self, contender):
        seconds = self.seconds.get(contender.name)
        return (contender.work or self.row.work) / seconds if seconds else None

    def ratio(self, names):
        """Our speed over that of the fastest of these."""
        first, *others = self.row.contenders
        speeds = [speed for other in others if other.name in names and (speed := self.speed(other))]
        ours = self.speed(first)
        return ours / max(speeds) if ours and speeds else None

    def line(self):
        first, *others = self.row.contenders
        scale = 1e-9 if self.row.unit == "GB/s" else 1e-12
        ours = self.speed(first)
        shown = f"{ours * scale:9.1f} {self.row.unit} {self.seconds[first.name] * 1e3:9.4f} ms" if ours else f"{'-':>9}"
        parts = [f"{self.row.label:42} {self.mode.split()[0]:9} {shown}"]
        for other in others:
            ratio = self.ratio((other.name,))
            parts.append(f"{other.name} {ratio:.3f}" if ratio else f"{other.name} -")
        return " | ".join(parts)


HEADER = "Speed of Warpsmith; then its speed over that of each other (above 1: Warpsmith is faster)"


def summary(results, bars):
    """Lines: for each bar and mode the geometric mean and the least."""
    lines = []
    for bar in bars:
        of_bar = [r for r in results if r.row.group == bar.group and (bar.only is None or r.row.name in bar.only)]
        for mode in dict.fromkeys(r.mode for r in of_bar):
            for dtype in dict.fromkeys(r.row.dtype for r in of_bar):
                ratios = {
                    r.row.name: ratio
                    for r in of_bar
                    if r.mode == mode and r.row.dtype == dtype and (ratio := r.ratio(bar.against))
                }
                if not ratios:
                    continue
                mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
                worst = min(ratios, key=ratios.get)
                verdicts = [
                    f"{what} {value:.3f}" + (f" (bar {wanted}: {'reached' if value >= wanted else 'MISSED'})" if wanted else "")
                    for what, value, wanted in (("mean", mean, bar.mean), ("least", ratios[worst], bar.least))
                ]
                lines.append(
                    f"{bar.group} {dtype} {mode.split()[0]} over the best of {', '.join(bar.against)}, {len(ratios)} rows: "
                    f"{', '.join(verdicts)} at {worst}"
                )
    return lines


def write_csv(results, machine, path):
    with open(path, "w", newline="") as file:
        for line in machine:
            file.write(f"# {line}\n")
        writer = csv.writer(file)
        writer.writerow(["suite", "group", "dtype", "name", "mode", "contender", "milliseconds", "speed", "unit", "ours_over_it", "note"])
        for r in results:
            scale = 1e-9 if r.row.unit == "GB/s" else 1e-12
            for contender in r.row.contenders:
                seconds, speed = r.seconds.get(contender.name), r.speed(contender)
                ratio = r.ratio((contender.name,))
                writer.writerow(
                    [r.row.suite, r.row.group, r.row.dtype, r.row.name, r.mode.split()[0], contender.name]
                    + [f"{seconds * 1e3:.6f}" if seconds else "", f"{speed * scale:.2f}" if speed else "", r.row.unit]
                    + [f"{ratio:.4f}" if ratio else "", r.notes.get(contender.name, "")]
                )


def roofline(results, path):
    """Bandwidth over that of a copy in the same row, one dot for each row."""
    bound = [r for r in results if r.mode == "single" and r.ratio(("copy",))]
    if not bound:
        return
    width, height, left = 900, 420, 60
    peers = [(r, r.ratio(("copy",)) / ratio) for r in bound if (ratio := r.ratio(("torch eager",)))]
    top = max([1.05] + [r.ratio(("copy",)) for r in bound] + [ratio for _, ratio in peers])
    place = {id(r): left + (width - left - 20) * (i + 0.5) / len(bound) for i, r in enumerate(bound)}
    y = lambda v: height - 40 - (height - 70) * v / top
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    for value in (0, 0.25, 0.5, 0.75, 0.97, 1):
        dash = ' stroke-dasharray="4 3"' if value == 0.97 else ""
        parts.append(f'<line x1="{left}" x2="{width-20}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ccc"{dash}/>')
        parts.append(f'<text x="{left-8}" y="{y(value)+4:.1f}" text-anchor="end">{value}</text>')
    for pairs, color in (([(r, r.ratio(("copy",))) for r in bound], "#005faf"), (peers, "#c85a00")):
        for r, ratio in pairs:
            title = f"<title>{r.row.label}: {ratio:.3f}</title>"
            parts.append(f'<circle cx="{place[id(r)]:.1f}" cy="{y(ratio):.1f}" r="3" fill="{color}">{title}</circle>')
    parts.append(f'<text x="{left}" y="18">bandwidth over a device copy: Warpsmith (blue), torch eager (orange)</text></svg>')
    path.write_text("\n".join(parts))
