#!/usr/bin/env python3
"""sarekc run: arguments, launch sizes, what is printed and stored, comparisons between devices."""
import struct
import zlib

import harness
from harness import ENVIRONMENT, INPUT_ERRORS, SAXPY, USAGE

COPY = """kernel copy(x: in [f32], y: out [f32]) block(4) {
  let i = global_id.x;
  if i < y.len && i < x.len { y[i] = x[i]; }
}
"""
TWO = """kernel one(y: out [i32]) block(1) { y[0] = 1; }
kernel two(y: out [i32]) block(1) { y[0] = 2; }
"""
WHERE = """kernel whereabouts(y: out [i32]) block(4, 2) {
  if local_id.x == 0 && local_id.y == 0 && group_id.x == 0 && group_id.y == 0 { y[0] = num_groups.x; y[1] = num_groups.y; }
}
"""
POINTS = """struct Point { x: f32, n: i32 }
kernel move(p: inout [Point]) block(1) { p[0] = Point { x: p[1].x + 0.5, n: p[1].n + 1 }; }
"""


def npy(descr, shape, data):
    """A .npy file as NumPy 1.x writes it."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * ((64 - (11 + len(header)) % 64) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def png_samples(data):
    """(width, height, colour type, bytes of the rows) of a PNG without interlacing whose filters are all 0 to 2."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    step = {0: 1, 2: 3, 6: 4}[colour]
    raw, stride, rows = zlib.decompress(packed), width * step, []
    for r in range(height):
        kind, row = raw[r * (stride + 1)], bytearray(raw[r * (stride + 1) + 1:(r + 1) * (stride + 1)])
        for i in range(stride):
            left, above = (row[i - step] if i >= step else 0), (rows[-1][i] if rows else 0)
            row[i] = (row[i] + {0: 0, 1: left, 2: above}[kind]) & 255
        rows.append(bytes(row))
    return width, height, colour, b"".join(rows)


class Arguments(harness.CommandLine):
    def copied(self, x, count=None):
        """The line that shows x after it went through a kernel."""
        self.write("copy.sarek", COPY)
        return self.succeeds("run", "copy.sarek", "-a", f"x={x}", "-a", f"y=zeros:{count or 4}").strip()

    def test_contents_of_buffers(self):
        self.assertEqual(self.copied("zeros:4"), "y: [f32; 4] = [0.0, 0.0, 0.0, 0.0]")
        self.assertEqual(self.copied("iota:4"), "y: [f32; 4] = [0.0, 1.0, 2.0, 3.0]")
        self.assertEqual(self.copied("fill:4:2.5"), "y: [f32; 4] = [2.5, 2.5, 2.5, 2.5]")
        self.assertEqual(self.copied("fill:4:bits:0x80000000"), "y: [f32; 4] = [-0.0, -0.0, -0.0, -0.0]")
        self.assertEqual(self.copied("[1, -inf, nan, 0x1p-149]"), "y: [f32; 4] = [1.0, -inf, nan, 1e-45]")

    def test_random_contents_repeat_by_seed(self):
        self.assertEqual(self.copied("random:4:-2:2:7"), self.copied("random:4:-2:2:7"))
        self.assertNotEqual(self.copied("random:4:-2:2:7"), self.copied("random:4:-2:2:8"))
        self.assertEqual(self.copied("any:4:3"), self.copied("any:4:3"))
        self.assertEqual(self.copied("random:4:3:3"), "y: [f32; 4] = [3.0, 3.0, 3.0, 3.0]")

    def test_a_long_buffer_is_cut(self):
        self.assertRegex(self.copied("iota:20", 20), r"^y: \[f32; 20\] = \[0\.0, .*15\.0, \.\.\. 4 more\]$")

    def test_files(self):
        self.write("x.npy", npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4)))
        self.write("x.raw", struct.pack("<4f", 5, 6, 7, 8))
        self.assertEqual(self.copied("@x.npy"), "y: [f32; 4] = [1.0, 2.0, 3.0, 4.0]")
        self.assertEqual(self.copied("@x.raw"), "y: [f32; 4] = [5.0, 6.0, 7.0, 8.0]")

    def test_files_that_do_not_fit(self):
        self.write("copy.sarek", COPY)
        self.write("f64.npy", npy("<f8", "(1,)", bytes(8)))
        self.write("short.npy", npy("<f4", "(4,)", bytes(8)))
        self.write("odd.raw", bytes(5))
        for name in ("f64.npy", "short.npy", "odd.raw", "gone.npy"):
            self.assertIn("x", self.fails(ENVIRONMENT, "run", "copy.sarek", "-a", f"x=@{name}", "-a", "y=zeros:1"), name)

    def test_wrong_arguments_are_named(self):
        self.write("a.sarek", SAXPY)
        rest = ("-a", "x=zeros:1", "-a", "y=zeros:1")
        for words, told in (((), "`a`"), (("-a", "a=1", "-a", "b=1"), "`b`"), (("-a", "a=1", "-a", "a=2"), "twice"), (("-a", "a"), "NAME=VALUE"),
                            (("-a", "a=one"), "`one`")):
            self.assertIn(told, self.fails(USAGE, "run", "a.sarek", *rest, *words), words)
        for contents in ("zeros", "fill:3", "random:1:2", "zeros:-1", "ones:3", "[1, 2", "random:1:2:1", "fill:1:x", "zeros:99999999999"):
            self.assertIn("`x`", self.fails(USAGE, "run", "a.sarek", "-a", "a=1", "-a", "y=zeros:1", "-a", f"x={contents}"), contents)

    def test_integers_must_fit(self):
        self.write("k.sarek", "kernel k(a: u8, y: out [u8]) block(1) { y[0] = a; }\n")
        self.assertEqual(self.succeeds("run", "k.sarek", "-a", "a=0xff", "-a", "y=zeros:1"), "y: [u8; 1] = [255]\n")
        for value in ("256", "-1", "1.5", "bits:0x100"):
            self.fails(USAGE, "run", "k.sarek", "-a", f"a={value}", "-a", "y=zeros:1")


class Launches(harness.CommandLine):
    def shape(self, *words):
        self.write("k.sarek", WHERE)
        return self.succeeds("run", "k.sarek", "-a", "y=zeros:2", *words).strip()

    def test_grid_counts_blocks_and_threads_are_rounded_up(self):
        self.assertEqual(self.shape(), "y: [i32; 2] = [1, 1]")
        self.assertEqual(self.shape("--grid", "3,2"), "y: [i32; 2] = [3, 2]")
        self.assertEqual(self.shape("--threads", "9,3"), "y: [i32; 2] = [3, 2]")
        for words in (("--grid", "0"), ("--grid", "1,2,3,4"), ("--grid", "x"), ("--threads", "9999999999999")):
            self.fails(USAGE, "run", "k.sarek", "-a", "y=zeros:2", *words)

    def test_the_kernel_is_named_where_there_are_several(self):
        self.write("k.sarek", TWO)
        self.assertIn("one, two", self.fails(USAGE, "run", "k.sarek", "-a", "y=zeros:1"))
        self.assertIn("[2]", self.succeeds("run", "k.sarek", "--kernel", "two", "-a", "y=zeros:1"))
        self.assertIn("[1]", self.succeeds("run", "k.sarek", "-k", "one", "-a", "y=zeros:1"))
        self.assertIn("`three`", self.fails(INPUT_ERRORS, "run", "k.sarek", "-k", "three", "-a", "y=zeros:1"))

    def test_dynamic_shared_memory_has_its_length_from_the_launch(self):
        self.write("k.sarek", "kernel k(y: out [i32]) block(1) { shared t: [i32; dyn]; t[0] = 3; y[0] = t[0] + t.len; }\n")
        self.assertIn("[8]", self.succeeds("run", "k.sarek", "-a", "y=zeros:1", "--shared", "5"))
        self.assertIn("--shared", self.fails(USAGE, "run", "k.sarek", "-a", "y=zeros:1"))

    def test_repeated_launches_go_on_from_each_other(self):
        self.write("k.sarek", "kernel k(y: inout [i32]) block(1) { y[0] += 1; }\n")
        self.assertIn("[5]", self.succeeds("run", "k.sarek", "-a", "y=zeros:1", "--repeat", "5"))
        self.assertRegex(self.succeeds("run", "k.sarek", "-a", "y=zeros:1", "--time", "-q"), r"^k on native \(native .*\): [0-9.e-]+ ms, best of 1\n$")
        self.fails(USAGE, "run", "k.sarek", "-a", "y=zeros:1", "--repeat", "0")

    def test_a_fault_of_the_source(self):
        self.write("a.sarek", SAXPY.replace("y.len", "z.len"))
        self.assertIn("a.sarek:3:", self.fails(INPUT_ERRORS, "run", "a.sarek", "-a", "a=1"))


class Stored(harness.CommandLine):
    def test_npy(self):
        self.write("copy.sarek", COPY)
        self.succeeds("run", "copy.sarek", "-q", "-a", "x=[1, 2, 3]", "-a", "y=zeros:3", "--out", "y=y.npy")
        self.assertEqual(self.read("y.npy"), npy("<f4", "(3,)", struct.pack("<3f", 1, 2, 3)))

    def test_npy_of_every_scalar_type_comes_back(self):
        for kind in ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"):
            self.write("k.sarek", f"kernel k(x: in [{kind}], y: out [{kind}]) block(1) {{ y[0] = x[0]; y[1] = x[1]; }}\n")
            self.succeeds("run", "k.sarek", "-q", "-a", "x=iota:2", "-a", "y=zeros:2", "--out", "y=y.npy")
            self.assertEqual(self.succeeds("run", "k.sarek", "-a", "x=@y.npy", "-a", "y=zeros:2"),
                             self.succeeds("run", "k.sarek", "-a", "x=iota:2", "-a", "y=zeros:2"), kind)

    def test_raw_and_text(self):
        self.write("copy.sarek", COPY)
        text = self.succeeds("run", "copy.sarek", "-q", "-a", "x=iota:20", "-a", "y=zeros:20", "--out", "y=y.bin", "--out", "y=-")
        self.assertEqual(self.read("y.bin"), struct.pack("<20f", *range(20)))
        self.assertIn("19.0]", text)
        self.assertNotIn("more", text)

    def test_records(self):
        self.write("p.sarek", POINTS)
        self.write("p.raw", struct.pack("<fifi", 0, 0, 1.5, 7))
        words = ("run", "p.sarek", "-a", "p=@p.raw")
        self.assertEqual(self.succeeds(*words, "--out", "p=p.bin"), "p: [Point; 2] = [{x: 2.0, n: 8}, {x: 1.5, n: 7}]\n")
        self.assertEqual(self.read("p.bin"), struct.pack("<fifi", 2.0, 8, 1.5, 7))

    def test_pictures(self):
        self.write("g.sarek", "kernel g(y: out [f32]) block(6) { y[global_id.x] = global_id.x as f32; }\n")
        self.succeeds("run", "g.sarek", "-q", "-a", "y=zeros:6", "--out", "y=g.png:3x2")
        self.assertEqual(png_samples(self.read("g.png")), (3, 2, 0, bytes([0, 51, 102, 153, 204, 255])))
        self.write("c.sarek", "kernel c(y: out [u8]) block(6) { y[global_id.x] = global_id.x as u8; }\n")
        self.succeeds("run", "c.sarek", "-q", "-a", "y=zeros:6", "--out", "y=c.png:1x2")
        self.assertEqual(png_samples(self.read("c.png")), (1, 2, 2, bytes(range(6))))

    def test_what_cannot_be_stored(self):
        self.write("copy.sarek", COPY)
        run = ("run", "copy.sarek", "-q", "-a", "x=iota:4", "-a", "y=zeros:4")
        for out in ("y=y.txt", "z=y.npy", "y", "y=y.png", "y=y.png:2"):
            self.fails(USAGE, *run, "--out", out)
        self.assertIn("3 x 2", self.fails(ENVIRONMENT, *run, "--out", "y=y.png:3x2"))
        self.assertIn("gone/y.npy", self.fails(ENVIRONMENT, *run, "--out", "y=gone/y.npy"))


class Compared(harness.CommandLine):
    def test_devices_agree_bit_for_bit(self):
        self.write("a.sarek", SAXPY)
        words = ("run", "a.sarek", "-q", "-a", "a=-0x1.8p-3", "-a", "x=any:1000", "-a", "y=any:1000")
        self.assertRegex(self.succeeds(*words, "--compare=interp"), r"^saxpy: native \(native .*\) and interp agree bit for bit in 2000 values\n$")
        self.assertIn("agree", self.succeeds(*words, "--device=interp", "--compare=native:0"))

    def test_a_granted_difference_is_shown_and_is_status_1(self):
        self.write("k.sarek", "kernel k(x: f64, h: out [f16]) block(1) { h[0] = (x as f32) as f16; }\n")
        words = ("run", "k.sarek", "-q", "-a", "x=0x1.00200004p0", "-a", "h=zeros:1", "--compare=interp")
        self.assertIn("agree", self.succeeds(*words))
        self.write("sarek.policy.json", '{"version": 1, "grants": [{"grant": "single-rounding", "kernel": "k", "reason": "a test"}]}')
        done = self.sarekc(*words)
        self.assertEqual((done.returncode, done.stderr), (INPUT_ERRORS, ""), done.stdout)
        self.assertEqual(done.stdout, "k: 1 of 1 values differ\n  h[0]: native 1.0009766, interp 1.0\n")
        self.assertIn("agree", self.succeeds(*words, env={"SAREK_OPT_DISABLE": "single-rounding"}))

    def test_a_device_that_is_not_there(self):
        self.write("a.sarek", SAXPY)
        words = ("run", "a.sarek", "-a", "a=1", "-a", "x=zeros:1", "-a", "y=zeros:1")
        self.assertIn("abacus", self.fails(USAGE, *words, "--device=abacus"))
        self.assertIn("native:9", self.fails(ENVIRONMENT, *words, "--device=native:9"))
        self.assertIn("interp:9", self.fails(ENVIRONMENT, *words, "--compare=interp:9"))

    def test_the_environment_names_the_device(self):
        self.write("a.sarek", SAXPY)
        words = ("run", "a.sarek", "-q", "--time", "-a", "a=1", "-a", "x=zeros:1", "-a", "y=zeros:1")
        self.assertIn("on interp", self.succeeds(*words, env={"SAREK_DEVICE": "interp"}))
        self.assertIn("on native", self.succeeds(*words, "--device=native", env={"SAREK_DEVICE": "interp"}))


if __name__ == "__main__":
    harness.main()
