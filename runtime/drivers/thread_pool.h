// The worker threads of the native driver. One pool a process; a launch that finds it busy runs on its own thread, so launches from
// several threads never wait for each other.
#pragma once

#include <cstdint>
#include <functional>

namespace sarek::runtime {

/// Threads that a launch may use: SAREK_NUM_THREADS when set to a positive number, else the CPUs this process may run on.
unsigned worker_count();

/// Calls body(worker, first, last) until [0, count) is covered; worker < worker_count(), and one worker runs one call at a time. Pieces are
/// handed out in ascending order, at least `grain` long but for the last. Returns when all are done. body must not throw.
void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(unsigned, std::int64_t, std::int64_t)>& body);

}  // namespace sarek::runtime
