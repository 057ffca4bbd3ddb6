// The native backend against plain loops of the host compiler, ISPC, Halide and PoCL: same kernels, same inputs, one process, interleaved;
// the best of several rounds each. All but PoCL, which keeps its own, work on the same memory: what lies in which cache is alike for all.
// Prints one line a kernel and thread count: milliseconds of Sarek and the ratio peer / Sarek (above 1: Sarek is faster). Peers that are
// not there are named and skipped. Also says whether the peer's results have Sarek's bits.
//   bench [--rounds N] [--threads N] [PACKAGE]
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/include/sarek/sarek.hpp"
#include "tests/bench/peers.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Splits [0, count) over threads.
void split(int threads, std::int64_t first, std::int64_t last, const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (threads <= 1) return work(first, last);
  std::vector<std::thread> pool;
  const std::int64_t step = (last - first + threads - 1) / threads;
  for (int t = 1; t < threads; ++t)
    pool.emplace_back([&, t] { work(std::min(last, first + t * step), std::min(last, first + (t + 1) * step)); });
  work(first, std::min(last, first + step));
  for (std::thread& t : pool) t.join();
}

struct Contender {
  std::string name;
  std::function<void()> prepare;  // not timed: puts the inputs back
  std::function<void()> run;
  std::function<std::vector<unsigned char>()> results;
  double best = 1e30;
  std::vector<unsigned char> bytes{};  // of the results, once it ran
};

/// Runs all contenders in turn, `rounds` times, and prints their line. Every other round goes backwards: who comes after whom, and so finds
/// what in the caches, must not favour anybody.
void compare(const std::string& kernel, int rounds, std::vector<Contender>& contenders) {
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      Contender& c = contenders[round % 2 == 0 ? i : contenders.size() - 1 - i];
      c.prepare();
      const auto start = Clock::now();
      c.run();
      c.best = std::min(c.best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
      if (round == 0) c.bytes = c.results();
    }
  std::printf("%-11s %9.3f ms ", kernel.c_str(), contenders[0].best);
  for (std::size_t i = 1; i < contenders.size(); ++i)
    std::printf(" | %s %6.2fx%s", contenders[i].name.c_str(), contenders[i].best / contenders[0].best,
                contenders[i].bytes == contenders[0].bytes ? "" : " (other bits)");
  std::printf("\n");
  std::fflush(stdout);
}

template <class T>
std::vector<unsigned char> bytes_of(std::initializer_list<const std::vector<T>*> vectors) {
  std::vector<unsigned char> out;
  for (const std::vector<T>* v : vectors) {
    const auto* data = reinterpret_cast<const unsigned char*>(v->data());
    out.insert(out.end(), data, data + v->size() * sizeof(T));
  }
  return out;
}

class Random {
 public:
  float uniform(float low, float high) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (static_cast<float>(state_ >> 40) * 0x1p-24f);
  }

 private:
  std::uint64_t state_ = 1;
};

std::vector<float> random_vector(std::size_t n, float low, float high) {
  static Random random;
  std::vector<float> v(n);
  for (float& x : v) x = random.uniform(low, high);
  return v;
}

/// A peer's loops with its name: the host compiler twice, ISPC and Halide twice when their libraries are there.
struct Peer {
  std::string name;
  peers::Loops loops;
};

/// The functions `prefix`_saxpy and so on from a shared library that tools/bench builds; the C calling convention is the same as that of
/// our loops.
bool load_peer(const char* path, const std::string& prefix, const char* name, std::vector<Peer>& out) {
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) return false;
  Peer peer;
  peer.name = name;
  const auto get = [&](auto& function, const char* kernel) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, (prefix + "_" + kernel).c_str()));
  };
  get(peer.loops.saxpy, "saxpy");
  get(peer.loops.mandelbrot, "mandelbrot");
  get(peer.loops.stencil, "stencil");
  get(peer.loops.nbody, "nbody");
  get(peer.loops.gemm, "gemm");
  get(peer.loops.histogram, "histogram");
  out.push_back(peer);
  return true;
}

struct Bench {
  sarek::Device device;
  sarek::Module module;
  std::vector<Peer> peers;
  std::vector<sarek::Device> opencl;  // at most one
  int rounds = 7;
  int threads = 1;

  void add_peers(std::vector<Contender>& list, const std::function<void()>& prepare, const std::function<void(const peers::Loops&)>& run,
                 const std::function<std::vector<unsigned char>()>& results) const {
    for (const Peer& peer : peers) list.push_back({peer.name, prepare, [run, &peer] { run(peer.loops); }, results});
  }

  void saxpy() const {
    constexpr std::int64_t n = 1 << 22;
    std::vector<float> x = random_vector(n, -1, 1), y0 = random_vector(n, -1, 1), y = y0;
    std::vector<Contender> list;
    const auto dx = sarek::Vector<float>::borrow(device, x), dy = sarek::Vector<float>::borrow(device, y);
    const sarek::Kernel kernel = module.kernel("saxpy");
    list.push_back({"sarek", [&] { y = y0; }, [&] { kernel.launch({n / 256}, {2.5f, dx, dy}); }, [&] { return bytes_of({&y}); }});
    add_peers(
        list, [&] { y = y0; },
        [&](const peers::Loops& l) { split(threads, 0, n, [&](auto a, auto b) { l.saxpy(a, b, 2.5f, x.data(), y.data()); }); },
        [&] { return bytes_of({&y}); });
    std::optional<sarek::Vector<float>> cx, cy;
    std::optional<sarek::Module> cl;
    add_opencl(
        list, cl, "saxpy", [&](const sarek::Device& d) { cx.emplace(d, x), cy.emplace(d, y0); }, [&] { cy->write(y0); },
        [&](const sarek::Kernel& k) { k.launch({n / 256}, {2.5f, *cx, *cy}); },
        [&] {
          const auto host = cy->to_host();
          return bytes_of({&host});
        });
    compare("saxpy", rounds * 3, list);
  }

  void mandelbrot() const {
    constexpr int w = 1024, h = 1024, limit = 256;
    const float dx = 3.0f / w, dy = 2.4f / h, left = -2.1f, top = -1.2f;
    std::vector<std::int32_t> counts(w * h);
    std::vector<Contender> list;
    const auto out = sarek::Vector<std::int32_t>::borrow(device, counts);
    const sarek::Kernel kernel = module.kernel("mandelbrot");
    const auto launch = [&](const sarek::Kernel& k, const sarek::Vector<std::int32_t>& to) {
      k.launch({w / 64, h / 4}, {w, h, left, top, dx, dy, limit, to});
    };
    list.push_back({"sarek", [] {}, [&] { launch(kernel, out); }, [&] { return bytes_of({&counts}); }});
    add_peers(
        list, [] {},
        [&](const peers::Loops& l) {
          split(threads, 0, h, [&](auto a, auto b) { l.mandelbrot(a, b, w, left, top, dx, dy, limit, counts.data()); });
        },
        [&] { return bytes_of({&counts}); });
    std::optional<sarek::Vector<std::int32_t>> to;
    std::optional<sarek::Module> cl;
    add_opencl(
        list, cl, "mandelbrot", [&](const sarek::Device& d) { to.emplace(d, w * h); }, [] {},
        [&](const sarek::Kernel& k) { launch(k, *to); },
        [&] {
          const auto host = to->to_host();
          return bytes_of({&host});
        });
    compare("mandelbrot", rounds, list);
  }

  void stencil() const {
    constexpr int w = 2048, h = 1024;
    std::vector<float> before = random_vector(w * h, 0, 1), after(w * h);
    std::vector<Contender> list;
    const auto from = sarek::Vector<float>::borrow(device, before), to = sarek::Vector<float>::borrow(device, after);
    const sarek::Kernel kernel = module.kernel("stencil");
    const auto launch = [&](const sarek::Kernel& k, const sarek::Vector<float>& f, const sarek::Vector<float>& t) {
      k.launch({(w - 2 + 63) / 64, (h - 2 + 3) / 4}, {w, h, 0.2f, f, t});
    };
    list.push_back({"sarek", [] {}, [&] { launch(kernel, from, to); }, [&] { return bytes_of({&after}); }});
    add_peers(
        list, [] {},
        [&](const peers::Loops& l) {
          split(threads, 1, h - 1, [&](auto a, auto b) { l.stencil(a, b, w, 0.2f, before.data(), after.data()); });
        },
        [&] { return bytes_of({&after}); });
    std::optional<sarek::Vector<float>> cf, ct;
    std::optional<sarek::Module> cl;
    add_opencl(
        list, cl, "stencil", [&](const sarek::Device& d) { cf.emplace(d, before), ct.emplace(d, w * h); }, [] {},
        [&](const sarek::Kernel& k) { launch(k, *cf, *ct); },
        [&] {
          const auto host = ct->to_host();
          return bytes_of({&host});
        });
    compare("stencil", rounds * 3, list);
  }

  void nbody() const {
    constexpr int n = 4096;
    std::vector<float> x = random_vector(n, -1, 1), y = random_vector(n, -1, 1), z = random_vector(n, -1, 1), m = random_vector(n, 0.1f, 1);
    std::vector<float> ax(n), ay(n), az(n);
    std::vector<Contender> list;
    const auto borrow = [&](std::vector<float>& v) { return sarek::Vector<float>::borrow(device, v); };
    const auto dx = borrow(x), dy = borrow(y), dz = borrow(z), dm = borrow(m), ox = borrow(ax), oy = borrow(ay), oz = borrow(az);
    const sarek::Kernel kernel = module.kernel("nbody");
    const auto three = [](const sarek::Vector<float>& a, const sarek::Vector<float>& b, const sarek::Vector<float>& c) {
      const auto ha = a.to_host(), hb = b.to_host(), hc = c.to_host();
      return bytes_of({&ha, &hb, &hc});
    };
    list.push_back({"sarek", [] {}, [&] { kernel.launch({n / 64}, {n, 0.01f, dx, dy, dz, dm, ox, oy, oz}); },
                    [&] { return bytes_of({&ax, &ay, &az}); }});
    add_peers(
        list, [] {},
        [&](const peers::Loops& l) {
          split(threads, 0, n,
                [&](auto a, auto b) { l.nbody(a, b, n, 0.01f, x.data(), y.data(), z.data(), m.data(), ax.data(), ay.data(), az.data()); });
        },
        [&] { return bytes_of({&ax, &ay, &az}); });
    std::vector<sarek::Vector<float>> v;
    std::optional<sarek::Module> cl;
    add_opencl(
        list, cl, "nbody",
        [&](const sarek::Device& d) {
          for (const std::vector<float>* s : std::initializer_list<const std::vector<float>*>{&x, &y, &z, &m, &ax, &ay, &az})
            v.emplace_back(d, *s);
        },
        [] {}, [&](const sarek::Kernel& k) { k.launch({n / 64}, {n, 0.01f, v[0], v[1], v[2], v[3], v[4], v[5], v[6]}); },
        [&] { return three(v[4], v[5], v[6]); });
    compare("nbody", rounds, list);
  }

  void gemm() const {
    constexpr int m = 256, n = 256, k = 256;
    std::vector<float> a = random_vector(m * k, -1, 1), b = random_vector(k * n, -1, 1), c(m * n);
    std::vector<Contender> list;
    const auto borrow = [&](std::vector<float>& v) { return sarek::Vector<float>::borrow(device, v); };
    const auto da = borrow(a), db = borrow(b), dc = borrow(c);
    const sarek::Kernel kernel = module.kernel("gemm");
    const auto launch = [&](const sarek::Kernel& f, const sarek::Vector<float>& va, const sarek::Vector<float>& vb,
                            const sarek::Vector<float>& vc) { f.launch({n / 64, m / 4}, {m, n, k, va, vb, vc}); };
    list.push_back({"sarek", [] {}, [&] { launch(kernel, da, db, dc); }, [&] { return bytes_of({&c}); }});
    add_peers(
        list, [] {},
        [&](const peers::Loops& l) { split(threads, 0, m, [&](auto f, auto e) { l.gemm(f, e, n, k, a.data(), b.data(), c.data()); }); },
        [&] { return bytes_of({&c}); });
    std::vector<sarek::Vector<float>> v;
    std::optional<sarek::Module> cl;
    add_opencl(
        list, cl, "gemm",
        [&](const sarek::Device& d) {
          for (const std::vector<float>* s : std::initializer_list<const std::vector<float>*>{&a, &b, &c}) v.emplace_back(d, *s);
        },
        [] {}, [&](const sarek::Kernel& f) { launch(f, v[0], v[1], v[2]); },
        [&] {
          const auto host = v[2].to_host();
          return bytes_of({&host});
        });
    compare("gemm", rounds, list);
  }

  void histogram() const {
    constexpr std::int64_t n = 1 << 23;
    std::vector<std::uint8_t> data(n);
    Random random;
    for (std::uint8_t& d : data) d = static_cast<std::uint8_t>(random.uniform(0, 256));
    std::vector<std::uint32_t> counts(256);
    const std::vector<std::uint32_t> zeros(256);
    std::vector<Contender> list;
    const auto dd = sarek::Vector<std::uint8_t>::borrow(device, data);
    const auto dc = sarek::Vector<std::uint32_t>::borrow(device, counts);
    const sarek::Kernel kernel = module.kernel("histogram");
    list.push_back({"sarek", [&] { counts = zeros; }, [&] { kernel.launch({64}, {dd, dc}); }, [&] { return bytes_of({&counts}); }});
    add_peers(
        list, [&] { counts = zeros; },
        [&](const peers::Loops& l) {
          // Each thread counts for itself, as anybody would write it.
          std::vector<std::vector<std::uint32_t>> own(static_cast<std::size_t>(threads), zeros);
          std::atomic<std::size_t> next{0};
          split(threads, 0, n, [&](auto f, auto e) { l.histogram(f, e, data.data(), own[next++].data()); });
          for (const auto& o : own)
            for (std::size_t i = 0; i < 256; ++i) counts[i] += o[i];
        },
        [&] { return bytes_of({&counts}); });
    std::optional<sarek::Vector<std::uint8_t>> cd;
    std::optional<sarek::Vector<std::uint32_t>> cc;
    std::optional<sarek::Module> cl;
    add_opencl(
        list, cl, "histogram", [&](const sarek::Device& d) { cd.emplace(d, data), cc.emplace(d, 256); }, [&] { cc->write(zeros); },
        [&](const sarek::Kernel& k) { k.launch({64}, {*cd, *cc}); },
        [&] {
          const auto host = cc->to_host();
          return bytes_of({&host});
        });
    compare("histogram", rounds, list);
  }

  void add_opencl(std::vector<Contender>& list, std::optional<sarek::Module>& holder, const char* kernel,
                  const std::function<void(const sarek::Device&)>& make, const std::function<void()>& prepare,
                  const std::function<void(const sarek::Kernel&)>& run, const std::function<std::vector<unsigned char>()>& results) const {
    if (opencl.empty()) return;
    make(opencl[0]);
    holder.emplace(opencl[0], package);
    const sarek::Kernel k = holder->kernel(kernel);
    list.push_back({"pocl", prepare, [run, k] { run(k); }, results});
  }

  std::string package;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string package = BENCH_PACKAGE;
    int rounds = 7;
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = std::atoi(argv[++i]);
      else package = argv[i];
    }
    const char* wanted = std::getenv("SAREK_NUM_THREADS");
    const int threads = wanted ? std::atoi(wanted) : static_cast<int>(std::thread::hardware_concurrency());
    const sarek::Device device("native");
    Bench bench{device, sarek::Module(device, package), {}, {}, rounds, threads, package};
    bench.peers.push_back({"c++ -O3", peers::contracted()});
    bench.peers.push_back({"c++ exact", peers::exact()});
    if (!load_peer(std::getenv("BENCH_ISPC"), "ispc", "ispc", bench.peers))
      std::printf("peer absent: ispc (set BENCH_ISPC; tools/bench builds it when ispc is on PATH)\n");
    if (!load_peer(std::getenv("BENCH_ISPC_EXACT"), "ispc", "ispc exact", bench.peers))
      std::printf("peer absent: ispc without contraction (set BENCH_ISPC_EXACT)\n");
    if (!load_peer(std::getenv("BENCH_HALIDE"), "halide", "halide", bench.peers))
      std::printf("peer absent: halide (set BENCH_HALIDE; tools/bench builds it when python3, or HALIDE_PYTHON, can import halide)\n");
    if (!load_peer(std::getenv("BENCH_HALIDE_EXACT"), "halide", "halide exact", bench.peers))
      std::printf("peer absent: halide without contraction (set BENCH_HALIDE_EXACT)\n");
    for (const sarek::Device& d : sarek::Device::all())
      if (std::string(d.info().target) == "opencl" && bench.opencl.empty()) bench.opencl.push_back(d);
    if (bench.opencl.empty()) std::printf("peer absent: pocl (%s)\n", sarek_driver_absence("opencl"));
    std::printf("%d threads, best of %d rounds; ratios are peer / sarek, above 1 means that sarek is faster; %s\n", threads, rounds,
                device.name().c_str());
    bench.saxpy();
    bench.mandelbrot();
    bench.stencil();
    bench.nbody();
    bench.gemm();
    bench.histogram();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench: %s\n", e.what());
    return 1;
  }
}
