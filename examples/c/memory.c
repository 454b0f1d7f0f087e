#include "memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The driver's structs, as in cuda.h of CUDA 12 and 13. */
typedef struct {
  int type, id;
} location;
typedef struct {
  int type, handle_types;
  location where;
  void *windows;
  unsigned char flags[8];
} properties;
typedef struct {
  location where;
  int flags;
} access_rights;
enum { PINNED = 1, DESCRIPTOR = 1, ON_DEVICE = 1, RECOMMENDED = 1, READ_WRITE = 3 };
enum { VMM_SUPPORTED = 102, DESCRIPTORS_SUPPORTED = 103 }; /* CUdevice_attribute */

struct memory_api {
  collc_driver driver;
  int device;
  int (*Granularity)(size_t *, const properties *, int);
  int (*Create)(uint64_t *, size_t, const properties *, unsigned long long);
  int (*Release)(uint64_t);
  int (*Export)(void *, uint64_t, int, unsigned long long);
  int (*Import)(uint64_t *, void *, int);
  int (*Reserve)(collc_pointer *, size_t, size_t, collc_pointer, unsigned long long);
  int (*Free)(collc_pointer, size_t);
  int (*Map)(collc_pointer, size_t, size_t, uint64_t, unsigned long long);
  int (*Unmap)(collc_pointer, size_t);
  int (*SetAccess)(collc_pointer, size_t, const access_rights *, size_t);
};

static int failed(const memory_api *api, const char *call, int result) {
  const char *name = "an error";
  if (result == 0) return 0;
  api->driver.GetErrorName(result, &name);
  fprintf(stderr, "GPU %d: %s: %s (%d)\n", api->device, call, name, result);
  return -1;
}

static properties properties_of(const memory_api *api) {
  properties p;
  memset(&p, 0, sizeof p);
  p.type = PINNED;
  p.handle_types = DESCRIPTOR;
  p.where.type = ON_DEVICE;
  p.where.id = api->device;
  return p;
}

const memory_api *memory_open(const collc_driver *driver, int device) {
  static memory_api api;
  static const char *const names[] = {"cuMemGetAllocationGranularity", "cuMemCreate", "cuMemRelease", "cuMemExportToShareableHandle",
                                      "cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemAddressFree", "cuMemMap",
                                      "cuMemUnmap", "cuMemSetAccess"};
  void *found[sizeof names / sizeof *names];
  int can_map = 0, can_share = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if ((found[i] = dlsym(driver->library, names[i])) == NULL) return fprintf(stderr, "the driver has no %s\n", names[i]), NULL;
  api.driver = *driver;
  api.device = device;
  memcpy((void *)&api.Granularity, &found[0], sizeof found[0]);
  memcpy((void *)&api.Create, &found[1], sizeof found[0]);
  memcpy((void *)&api.Release, &found[2], sizeof found[0]);
  memcpy((void *)&api.Export, &found[3], sizeof found[0]);
  memcpy((void *)&api.Import, &found[4], sizeof found[0]);
  memcpy((void *)&api.Reserve, &found[5], sizeof found[0]);
  memcpy((void *)&api.Free, &found[6], sizeof found[0]);
  memcpy((void *)&api.Map, &found[7], sizeof found[0]);
  memcpy((void *)&api.Unmap, &found[8], sizeof found[0]);
  memcpy((void *)&api.SetAccess, &found[9], sizeof found[0]);
  if (failed(&api, "cuDeviceGetAttribute", driver->DeviceGetAttribute(&can_map, VMM_SUPPORTED, device)) != 0 ||
      failed(&api, "cuDeviceGetAttribute", driver->DeviceGetAttribute(&can_share, DESCRIPTORS_SUPPORTED, device)) != 0)
    return NULL;
  if (!can_map || !can_share) return fprintf(stderr, "GPU %d cannot share memory between processes\n", device), NULL;
  return &api;
}

/* Maps memory for this rank's GPU; 0 where that fails. */
static collc_pointer map(const memory_api *api, uint64_t physical, size_t bytes) {
  collc_pointer pointer = 0;
  access_rights rights;
  rights.where.type = ON_DEVICE;
  rights.where.id = api->device;
  rights.flags = READ_WRITE;
  if (failed(api, "cuMemAddressReserve", api->Reserve(&pointer, bytes, 0, 0, 0)) != 0) return 0;
  if (failed(api, "cuMemMap", api->Map(pointer, bytes, 0, physical, 0)) != 0) {
    api->Free(pointer, bytes);
    return 0;
  }
  if (failed(api, "cuMemSetAccess", api->SetAccess(pointer, bytes, &rights, 1)) == 0) return pointer;
  api->Unmap(pointer, bytes);
  api->Free(pointer, bytes);
  return 0;
}

static void unmap_all(const memory_api *api, symmetric_memory *memory) {
  for (int p = 0; p < memory->world; p++) {
    if (memory->pointers[p] == 0) continue;
    failed(api, "cuMemUnmap", api->Unmap(memory->pointers[p], memory->bytes));
    failed(api, "cuMemAddressFree", api->Free(memory->pointers[p], memory->bytes));
    memory->pointers[p] = 0;
  }
}

int symmetric_allocate(const memory_api *api, ranks *r, size_t bytes, void *stream, symmetric_memory *made) {
  const properties wanted = properties_of(api);
  size_t granularity = 0;
  uint64_t physical = 0;
  int descriptor = -1, descriptors[MOST_RANKS], code = -1;
  memset(made, 0, sizeof *made);
  made->world = r->world;
  if (failed(api, "cuMemGetAllocationGranularity", api->Granularity(&granularity, &wanted, RECOMMENDED)) != 0) return -1;
  made->bytes = (bytes + granularity - 1) / granularity * granularity;
  if (failed(api, "cuMemCreate", api->Create(&physical, made->bytes, &wanted, 0)) != 0) return -1;
  made->pointers[r->rank] = map(api, physical, made->bytes);
  if (made->pointers[r->rank] != 0 &&
      /* Zeroed before anybody else has it. */
      failed(api, "cuMemsetD8Async", api->driver.MemsetD8Async(made->pointers[r->rank], 0, made->bytes, stream)) == 0 &&
      failed(api, "cuStreamSynchronize", api->driver.StreamSynchronize(stream)) == 0 &&
      failed(api, "cuMemExportToShareableHandle", api->Export(&descriptor, physical, DESCRIPTOR, 0)) == 0)
    code = ranks_gather_descriptors(r, descriptor, descriptors);
  for (int p = 0; p < r->world && code == 0; p++) {
    uint64_t theirs = 0;
    if (p == r->rank) continue;
    code = failed(api, "cuMemImportFromShareableHandle", api->Import(&theirs, (void *)(intptr_t)descriptors[p], DESCRIPTOR));
    if (code != 0) break;
    made->pointers[p] = map(api, theirs, made->bytes);
    if (made->pointers[p] == 0) code = -1;
    /* The mapping keeps the memory. */
    api->Release(theirs);
  }
  if (descriptor >= 0) {
    for (int p = 0; p < r->world; p++)
      if (descriptors[p] >= 0) close(descriptors[p]);
    close(descriptor);
  }
  api->Release(physical);
  if (code != 0) unmap_all(api, made);
  return code;
}

void symmetric_free(const memory_api *api, ranks *r, symmetric_memory *memory) {
  ranks_meet(r);
  unmap_all(api, memory);
}
