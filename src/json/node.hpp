// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "json/json.hpp"

namespace antiphon {

/// A value of a JSON document that comes from outside, together with its path: every error is a FormatError that begins
/// with the field's path ("rules[3].bytes: expected …"). Nodes point to their parents, which must outlive them.
class JsonNode {
 public:
  /// Parses `text`; throws FormatError if it is no JSON or longer than `max_bytes`.
  static Json parse(std::string_view text, std::size_t max_bytes);

  explicit JsonNode(const Json& document) : value_(&document) {}

  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] bool is_number() const { return value_->is_number(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }
  [[nodiscard]] bool is_object() const { return value_->is_object(); }

  /// Returns the field of an object; fails if it is missing.
  [[nodiscard]] JsonNode at(std::string_view key) const&;
  /// Returns the field of an object, or nothing if it is missing or null.
  [[nodiscard]] std::optional<JsonNode> find(std::string_view key) const&;
  /// Returns element i of an array.
  [[nodiscard]] JsonNode element(std::size_t i) const&;
  JsonNode at(std::string_view key) const&& = delete;
  std::optional<JsonNode> find(std::string_view key) const&& = delete;
  JsonNode element(std::size_t i) const&& = delete;

  /// Returns the number of elements; fails if this is not an array or has more than `max` elements.
  [[nodiscard]] std::size_t array_size(std::size_t max = SIZE_MAX) const;
  [[nodiscard]] std::int64_t integer(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const;
  /// Returns any number; never infinite or NaN, which JSON does not have.
  [[nodiscard]] double number(double min, double max) const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const std::string& text() const;

  /// Returns the field's value, or `otherwise` where it is missing or null.
  [[nodiscard]] std::int64_t integer_or(std::string_view key, std::int64_t otherwise, std::int64_t min,
                                        std::int64_t max) const;
  [[nodiscard]] bool boolean_or(std::string_view key, bool otherwise) const;
  /// Fails on a field that is not among `known`, because a misspelt field must not pass for an absent one.
  void allow_only(std::initializer_list<std::string_view> known) const;

  /// Returns the path, as in "rules[3].bytes"; empty for the document.
  [[nodiscard]] std::string path() const;
  /// Throws FormatError with the path, then what is wrong.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  JsonNode(const Json& value, const JsonNode& parent, std::string_view key, std::size_t index)
      : value_(&value), parent_(&parent), key_(key), index_(index) {}

  const Json* value_;
  const JsonNode* parent_ = nullptr;
  std::string_view key_;   ///< in an object
  std::size_t index_ = 0;  ///< in an array
};

}  // namespace antiphon
