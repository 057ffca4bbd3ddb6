"""The kernels of kernels.sarek in Halide: halide_peer.py OUTDIR writes an object file and a C header of each, in OUTDIR/fast (contraction and
reordering allowed, Halide's default) and in OUTDIR/exact (strict_float, so that the bits can be compared). halide_peer.cpp calls them. The threads
are split outside, so no schedule is parallel. The code is for AVX2 with FMA, whatever this machine has."""
import os
import sys

import halide as hl

TARGET = "x86-64-linux-avx-avx2-f16c-fma-sse41-no_runtime-no_asserts-no_bounds_query"
LANES = 8
FLOAT, INT, COUNT = hl.Float(32), hl.Int(32), hl.UInt(32)
GUARD = hl.TailStrategy.GuardWithIf


def scalars(kind, *names):
    return [hl.Param(kind, name) for name in names]


def floats(dimensions, *names):
    return [hl.ImageParam(FLOAT, dimensions, name) for name in names]


def saxpy():
    """In place: what the output held is the second operand."""
    (a,), (x,) = scalars(FLOAT, "a"), floats(1, "x")
    i, y = hl.Var("i"), hl.Func("y")
    y[i] = hl.undef(FLOAT)
    y[i] = a * x[i] + y[i]
    y.update().vectorize(i, LANES, GUARD)
    return y, [a, x]


def mandelbrot():
    """Halide has no loop that ends by what it computed: every pixel takes all `limit` steps, as in the Mandelbrot set among Halide's own tests. A
    pixel counts as long as it has not escaped before."""
    left, top, dx, dy = scalars(FLOAT, "left", "top", "dx", "dy")
    (limit,) = scalars(INT, "limit")
    column, row, block, inner = hl.Var("column"), hl.Var("row"), hl.Var("block"), hl.Var("inner")
    step = hl.RDom([(0, limit)], "step")
    state, counts = hl.Func("state"), hl.Func("counts")
    cx = left + hl.cast(FLOAT, column) * dx
    cy = top + hl.cast(FLOAT, row) * dy
    state[column, row] = (cx, cy, hl.i32(0))
    x, y, n = (state[column, row][part] for part in range(3))
    inside = (n == step.x) & (x * x + y * y <= 4.0)
    state[column, row] = (cx + (x * x - y * y), cy + 2.0 * x * y, n + hl.select(inside, 1, 0))
    counts[column, row] = state[column, row][2]

    # Three vectors at a time hide each other's latencies and stay in registers.
    width = 3 * LANES
    counts.split(column, block, inner, width, GUARD).vectorize(inner, LANES)
    state.compute_at(counts, block).bound_extent(column, width).store_in(hl.MemoryType.Register).vectorize(column, LANES)
    state.update().reorder(column, row, step.x).vectorize(column, LANES).unroll(column)
    return counts, [left, top, dx, dy, limit]


def stencil():
    (rate,), (before,) = scalars(FLOAT, "rate"), floats(2, "before")
    x, y, after = hl.Var("x"), hl.Var("y"), hl.Func("after")
    around = before[x - 1, y] + before[x + 1, y] + before[x, y - 1] + before[x, y + 1]
    after[x, y] = before[x, y] + rate * (around - 4.0 * before[x, y])
    # Bound by memory: tiles and unrolling bring nothing.
    after.vectorize(x, LANES, GUARD)
    return after, [rate, before]


def nbody():
    (bodies,), (softening,) = scalars(INT, "bodies"), scalars(FLOAT, "softening")
    x, y, z, m = floats(1, "x", "y", "z", "m")
    i, k, block, inner = hl.Var("i"), hl.Var("k"), hl.Var("block"), hl.Var("inner")
    j = hl.RDom([(0, bodies)], "j")
    cube, sums, out = hl.Func("cube"), hl.Func("sums"), hl.Func("out")
    # The last block may reach past the last body; the sums there are not kept.
    own = hl.min(i, bodies - 1)

    def distances(other):
        return [place[other] - place[own] for place in (x, y, z)]

    dx, dy, dz = distances(k)
    d2 = dx * dx + dy * dy + dz * dz + softening
    cube[i, k] = d2 * hl.sqrt(d2)
    # Strict in both modes: else the division moves behind the products and becomes three.
    f = hl.strict_float(m[j.x] / cube[i, j.x])
    sums[i] = (hl.f32(0), hl.f32(0), hl.f32(0))
    sums[i] = tuple(sums[i][part] + d * f for part, d in enumerate(distances(j.x)))
    out[i] = tuple(sums[i][part] for part in range(3))

    width = 2 * LANES
    out.split(i, block, inner, width, GUARD).vectorize(inner, LANES)
    sums.compute_at(out, block).bound_extent(i, width).store_in(hl.MemoryType.Register).vectorize(i, LANES).unroll(i)
    sums.update().reorder(i, j.x).vectorize(i, LANES).unroll(i)
    return out, [bodies, softening, x, y, z, m]


def gemm():
    """Needs as many columns as a tile has: the last tile of a row is moved back over the one before."""
    rows, depth = scalars(INT, "rows", "depth")
    a, b = floats(2, "a", "b")
    x, y, xi, yi = hl.Var("x"), hl.Var("y"), hl.Var("xi"), hl.Var("yi")
    k = hl.RDom([(0, depth)], "k")
    sums, c = hl.Func("sums"), hl.Func("c")
    sums[x, y] = hl.f32(0)
    # The last tile may reach past the last row; the sums there are not kept.
    sums[x, y] = sums[x, y] + a[k.x, hl.min(y, rows - 1)] * b[x, k.x]
    c[x, y] = sums[x, y]

    # The tile's 12 vectors of sums stay in registers, a panel of b in the first cache for all rows. k is unrolled in order: the sums keep theirs.
    wide, high = 2 * LANES, 6
    c.split(x, x, xi, wide, hl.TailStrategy.ShiftInwards).split(y, y, yi, high, GUARD)
    c.reorder(xi, yi, y, x).vectorize(xi, LANES).unroll(xi)
    sums.compute_at(c, y).bound_extent(y, high).store_in(hl.MemoryType.Register).vectorize(x, LANES).unroll(x).unroll(y)
    sums.update().reorder(x, y, k.x).vectorize(x, LANES).unroll(x).unroll(y).unroll(k.x, 2)
    return c, [rows, depth, a, b]


def histogram():
    """Adds to what the output holds."""
    (elements,), data = scalars(INT, "elements"), hl.ImageParam(hl.UInt(8), 1, "data")
    value, copy, pair, which = hl.Var("value"), hl.Var("copy"), hl.RVar("pair"), hl.RVar("which")
    i = hl.RDom([(0, elements)], "i")
    counts = hl.Func("counts")
    counts[value] = hl.undef(COUNT)
    counts[hl.cast(INT, data[i.x])] += hl.u32(1)

    # Two counts of each value, since increments of one place wait for each other; more bring nothing.
    counts.bound(value, 0, 256)
    counts.update().split(i.x, pair, which, 2)
    copies = counts.update().rfactor(which, copy)
    copies.compute_root().store_in(hl.MemoryType.Stack).vectorize(value, LANES)
    copies.update().reorder(copy, pair).unroll(copy)
    counts.update().reorder(value, which).vectorize(value, LANES)
    return counts, [elements, data]


def main(folder):
    for mode, feature in (("fast", ""), ("exact", "-strict_float")):
        os.makedirs(os.path.join(folder, mode), exist_ok=True)
        for build in (saxpy, mandelbrot, stencil, nbody, gemm, histogram):
            func, arguments = build()
            name = f"aot_{build.__name__}"
            path = os.path.join(folder, mode, name)
            outputs = {hl.OutputFileType.object: path + ".o", hl.OutputFileType.c_header: path + ".h"}
            func.compile_to(outputs, arguments, name, hl.Target(TARGET + feature))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: halide_peer.py OUTDIR", file=sys.stderr)
        sys.exit(2)
    main(sys.argv[1])
