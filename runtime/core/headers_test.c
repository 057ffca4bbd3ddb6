/* The C header is C: compiled as such, strictly, and used once. Called by headers_test.cpp. */
#include <sarek/sarek.h>

size_t count_devices_in_c(void) {
  size_t count = 0;
  sarek_argument argument = {0};
  sarek_device_info info = {0};
  (void)argument;
  (void)info;
  return sarek_device_count(&count) == SAREK_OK ? count : 0;
}
