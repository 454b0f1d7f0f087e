// Keeps the addon loadable on glibc 2.31.
//
// glibc 2.34 moved dlopen, pthread_create and friends into libc.so and gave them new default versions, so a plain
// link on a newer system asks for GLIBC_2.34. Here each gets a hidden definition of its own that forwards to the
// old version, which every x86-64 glibc still exports; calls from static libstdc++ land here too.
// `objdump -T` in test/native checks the ceiling.
#include <dlfcn.h>
#include <pthread.h>

#if defined(__linux__) && defined(__GLIBC__) && defined(__x86_64__)

#define COLLC_HIDDEN __attribute__((visibility("hidden")))
#define COLLC_FORWARD(result, name, parameters, arguments) \
  COLLC_FORWARD_TO("GLIBC_2.2.5", result, name, parameters, arguments)
#define COLLC_FORWARD_TO(version, result, name, parameters, arguments)                \
  __asm__(".symver collc_old_" #name ", " #name "@" version);                         \
  extern "C" result collc_old_##name parameters;                                      \
  extern "C" COLLC_HIDDEN result name parameters { return collc_old_##name arguments; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // pthread_setspecific only stores its argument
COLLC_FORWARD(void*, dlopen, (const char* file, int mode), (file, mode))
COLLC_FORWARD(void*, dlsym, (void* __restrict handle, const char* __restrict name) noexcept, (handle, name))
COLLC_FORWARD(int, dlclose, (void* handle) noexcept, (handle))
COLLC_FORWARD(char*, dlerror, () noexcept, ())
COLLC_FORWARD(int, dladdr, (const void* address, Dl_info* info) noexcept, (address, info))
COLLC_FORWARD_TO("GLIBC_2.3.3", int, dlinfo, (void* __restrict handle, int request, void* __restrict info) noexcept,
                 (handle, request, info))
COLLC_FORWARD(int, pthread_create,
              (pthread_t * __restrict thread, const pthread_attr_t* __restrict attributes, void* (*start)(void*),
               void* __restrict argument) noexcept,
              (thread, attributes, start, argument))
COLLC_FORWARD(int, pthread_detach, (pthread_t thread) noexcept, (thread))
COLLC_FORWARD(int, pthread_mutex_trylock, (pthread_mutex_t * mutex) noexcept, (mutex))
COLLC_FORWARD(int, pthread_join, (pthread_t thread, void** result), (thread, result))
COLLC_FORWARD(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock) noexcept, (lock))
COLLC_FORWARD(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock) noexcept, (lock))
COLLC_FORWARD(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock) noexcept, (lock))
COLLC_FORWARD(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock) noexcept, (lock))
COLLC_FORWARD(int, pthread_once, (pthread_once_t * control, void (*routine)(void)), (control, routine))
COLLC_FORWARD(int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void*)) noexcept, (key, destroy))
COLLC_FORWARD(int, pthread_key_delete, (pthread_key_t key) noexcept, (key))
COLLC_FORWARD(void*, pthread_getspecific, (pthread_key_t key) noexcept, (key))
COLLC_FORWARD(int, pthread_setspecific, (pthread_key_t key, const void* value) noexcept, (key, value))
#pragma GCC diagnostic pop

// glibc 2.32's hint for libstdc++'s reference counts. Node is never single-threaded.
extern "C" COLLC_HIDDEN char __libc_single_threaded;
char __libc_single_threaded = 0;

#endif
