/* What programs against the fake driver begin with. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_programs.h"

static collc_driver driver;
static collc_error error;

static void *symbol(const char *name) {
  void *found = dlsym(driver.library, name);
  if (found == NULL) exit(9);
  return found;
}
static void said(const char *what, int code) {
  printf("%s: %d%s%s\n", what, code, code == 0 ? "" : " ", code == 0 ? "" : error.message);
}
/* Memory that every device reaches. */
static collc_pointer shared(size_t bytes) {
  void *host = NULL;
  collc_pointer pointer = 0;
  if (driver.MemHostAlloc(&host, bytes, 3) != 0 || driver.MemHostGetDevicePointer(&pointer, host, 0) != 0) exit(8);
  return pointer;
}
