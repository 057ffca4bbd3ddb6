#include "runtime/drivers/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace sarek::runtime {
namespace {

unsigned count_workers() {
  if (const char* text = std::getenv("SAREK_NUM_THREADS")) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && n > 0 && n <= 4096) return static_cast<unsigned>(n);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

struct Job {
  std::int64_t count = 0;
  std::int64_t grain = 1;
  const std::function<void(unsigned, std::int64_t, std::int64_t)>* body = nullptr;
  std::atomic<std::int64_t> next{0};

  void work(unsigned worker) {
    while (true) {
      const std::int64_t first = next.fetch_add(grain, std::memory_order_relaxed);
      if (first >= count) return;
      (*body)(worker, first, std::min(count, first + grain));
    }
  }
};

class Pool {
 public:
  explicit Pool(unsigned workers) {
    for (unsigned w = 1; w < workers; ++w) threads_.emplace_back([this, w] { run(w); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// False when another launch has the pool.
  bool try_run(Job& job) {
    const std::unique_lock one(busy_, std::try_to_lock);
    if (!one) return false;
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      running_ = static_cast<unsigned>(threads_.size());
      ++generation_;
    }
    wake_.notify_all();
    job.work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
    job_ = nullptr;
    return true;
  }

 private:
  void run(unsigned worker) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      Job* job = job_;
      lock.unlock();
      job->work(worker);
      lock.lock();
      if (--running_ == 0) done_.notify_one();
    }
  }

  std::mutex busy_;  // held by the launch that uses the pool
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<std::thread> threads_;
  Job* job_ = nullptr;
  unsigned running_ = 0;
  std::uint64_t generation_ = 0;
  bool stop_ = false;
};

}  // namespace

unsigned worker_count() {
  static const unsigned count = count_workers();
  return count;
}

void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(unsigned, std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  Job job;
  job.count = count;
  job.grain = std::max<std::int64_t>(1, grain);
  job.body = &body;
  if (worker_count() > 1 && count > job.grain) {
    static Pool pool(worker_count());
    if (pool.try_run(job)) return;
  }
  job.work(0);
}

}  // namespace sarek::runtime
