/* The C interface of the Sarek runtime: devices, modules, vectors, launches. Handles are opaque. Every call returns a status; on anything
 * but SAREK_OK sarek_last_error() has one sentence that says what went wrong, for the calling thread. All calls are thread-safe; two calls
 * that use one vector at once, one of them writing, need the caller's own order, as with any memory. */
#ifndef SAREK_SAREK_H
#define SAREK_SAREK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SAREK_API __attribute__((visibility("default")))
#else
#define SAREK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sarek_status {
  SAREK_OK = 0,
  SAREK_INVALID_ARGUMENT = 1, /* a handle is null, a count, type, access or length does not fit the kernel */
  SAREK_NOT_FOUND = 2,        /* no device, kernel or file of that name */
  SAREK_BAD_PACKAGE = 3,      /* the package is corrupt, truncated, newer or hostile */
  SAREK_UNSUPPORTED = 4,      /* the device cannot run any variant of the kernel that the policy allows */
  SAREK_LAUNCH_FAILED = 5,    /* the driver refused, or a check of a checked kernel failed */
  SAREK_OUT_OF_MEMORY = 6,
  SAREK_INTERNAL = 70
} sarek_status;

typedef enum sarek_type {
  SAREK_BYTES = 0, /* a record by value: its bytes as the package lays them out */
  SAREK_BOOL,
  SAREK_I8,
  SAREK_U8,
  SAREK_I16,
  SAREK_U16,
  SAREK_I32,
  SAREK_U32,
  SAREK_I64,
  SAREK_U64,
  SAREK_F16,
  SAREK_BF16,
  SAREK_F32,
  SAREK_F64
} sarek_type;

typedef struct sarek_device sarek_device; /* lives as long as the process */
typedef struct sarek_module sarek_module;
typedef struct sarek_kernel sarek_kernel; /* lives as long as its module */
typedef struct sarek_vector sarek_vector;

/* The message of this thread's last failed call; empty when there was none. Valid until the next call of this thread. */
SAREK_API const char* sarek_last_error(void);
/* "0.1.0" */
SAREK_API const char* sarek_version(void);

/* --- devices ------------------------------------------------------------------------------------------------------------------------- */
SAREK_API sarek_status sarek_device_count(size_t* count);
SAREK_API sarek_status sarek_device_get(size_t index, sarek_device** device);
/* By id ("native:0"), by target ("opencl": its first device), or NULL: the one SAREK_DEVICE names, else native. */
SAREK_API sarek_status sarek_device_open(const char* id, sarek_device** device);
typedef struct sarek_device_info {
  const char* id;
  const char* target;
  const char* framework;
  const char* name;
  int64_t max_block_threads;
  int64_t max_shared_bytes;
  uint32_t compute_units;
  int shares_host_memory;
} sarek_device_info;
/* The strings live as long as the process. */
SAREK_API sarek_status sarek_device_get_info(const sarek_device* device, sarek_device_info* info);
/* Why a driver (by target name) lists no device; empty when it lists some. Lives as long as the process. */
SAREK_API const char* sarek_driver_absence(const char* target);

/* --- modules and kernels ---------------------------------------------------------------------------------------------------------------
 */
SAREK_API sarek_status sarek_module_load_file(sarek_device* device, const char* path, sarek_module** module);
/* Copies what it needs: `bytes` may go away afterwards. */
SAREK_API sarek_status sarek_module_load_memory(sarek_device* device, const void* bytes, size_t size, sarek_module** module);
/* Kernels of the module must not be running. NULL is allowed. */
SAREK_API void sarek_module_release(sarek_module* module);
SAREK_API sarek_status sarek_module_kernel_count(const sarek_module* module, size_t* count);
SAREK_API sarek_status sarek_module_kernel_name(const sarek_module* module, size_t index, const char** name);
/* Picks the best variant that the device runs and the policy allows, and makes it ready. */
SAREK_API sarek_status sarek_module_kernel(sarek_module* module, const char* name, sarek_kernel** kernel);
/* Threads of a block along x, y, z. */
SAREK_API sarek_status sarek_kernel_block(const sarek_kernel* kernel, int32_t block[3]);
/* "native avx2", "opencl", "interp": what was picked. Lives as long as the kernel. */
SAREK_API const char* sarek_kernel_variant(const sarek_kernel* kernel);

/* --- vectors -----------------------------------------------------------------------------------------------------------------------------
 */
/* `count` elements of `element_size` bytes, zero. */
SAREK_API sarek_status sarek_vector_create(sarek_device* device, size_t element_size, size_t count, sarek_vector** vector);
/* A vector over the caller's memory, which must outlive it. Nothing is copied where the device shares host memory; elsewhere
 * sarek_vector_sync brings results back. */
SAREK_API sarek_status sarek_vector_borrow(sarek_device* device, void* data, size_t element_size, size_t count, sarek_vector** vector);
/* A borrowed vector is synchronised first. NULL is allowed. */
SAREK_API void sarek_vector_release(sarek_vector* vector);
SAREK_API size_t sarek_vector_count(const sarek_vector* vector);
SAREK_API size_t sarek_vector_element_size(const sarek_vector* vector);
/* Copies elements [first, first + count) in or out. */
SAREK_API sarek_status sarek_vector_write(sarek_vector* vector, size_t first, size_t count, const void* from);
SAREK_API sarek_status sarek_vector_read(sarek_vector* vector, size_t first, size_t count, void* to);
/* The elements in host memory, up to date; valid until the next launch that writes the vector or its release. With `will_write` the
 * device's copy is brought up to date before the next launch. */
SAREK_API sarek_status sarek_vector_map(sarek_vector* vector, int will_write, void** data);
/* Makes the host's copy current: of interest for borrowed memory. */
SAREK_API sarek_status sarek_vector_sync(sarek_vector* vector);

/* --- launches
 * ------------------------------------------------------------------------------------------------------------------------------ */
typedef struct sarek_argument {
  sarek_vector* vector; /* a buffer argument; else NULL */
  sarek_type type;      /* a scalar argument: its type, */
  const void* data;     /* where it is, */
  size_t size;          /* and its bytes */
} sarek_argument;
/* Runs the kernel over `grid` blocks with one argument a parameter, in order, and returns when it is done. `dynamic_shared` gives the
 * elements of each dynamic shared array, in order of declaration. */
SAREK_API sarek_status sarek_launch(sarek_kernel* kernel, const int64_t grid[3], const sarek_argument* arguments, size_t argument_count,
                                    const int64_t* dynamic_shared, size_t dynamic_shared_count);

#ifdef __cplusplus
}
#endif
#endif
