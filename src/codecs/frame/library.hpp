// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

/// Compression libraries are loaded at run time, so that a wheel needs none of them. A machine without them only has
/// two codecs fewer.
namespace antiphon::codec {

class Library {
 public:
  explicit Library(const char* soname) : handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {}
  template <typename Function>
  Function* find(const char* symbol) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, symbol));
  }

 private:
  void* handle_;  // never closed, because the functions are used until the process ends
};

}  // namespace antiphon::codec
