// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

/// Compression libraries are looked for at run time: a wheel stands alone, and a machine without them lacks two
/// candidates only.
namespace antiphon::codec {

class Library {
 public:
  explicit Library(const char* soname) : handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {}
  template <typename Function>
  Function* find(const char* symbol) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, symbol));
  }

 private:
  void* handle_;  // never closed: the functions are used until the process ends
};

}  // namespace antiphon::codec
