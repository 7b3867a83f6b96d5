// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace antiphon {

/// The tables of all libraries by their keys, as scripts/library_tables.py writes them.
extern const char* const library_tables_json;

}  // namespace antiphon
