// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "json/json.hpp"

namespace antiphon {

/// A value of a JSON document that comes from outside, and where it is: every error is a FormatError that begins with
/// the field's path ("rules[3].bytes: expected …"). Nodes point to their parents, which must outlive them.
class JsonNode {
 public:
  /// Parses `text`; throws FormatError if it is no JSON or longer than `max_bytes`.
  static Json parse(std::string_view text, std::size_t max_bytes);

  explicit JsonNode(const Json& document) : value_(&document) {}

  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] bool is_number() const { return value_->is_number(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }
  [[nodiscard]] bool is_object() const { return value_->is_object(); }

  /// The field of an object; fails if it is missing.
  [[nodiscard]] JsonNode at(std::string_view key) const&;
  /// The field of an object; nothing if it is missing or null.
  [[nodiscard]] std::optional<JsonNode> find(std::string_view key) const&;
  /// Element i of an array.
  [[nodiscard]] JsonNode element(std::size_t i) const&;
  JsonNode at(std::string_view key) const&& = delete;
  std::optional<JsonNode> find(std::string_view key) const&& = delete;
  JsonNode element(std::size_t i) const&& = delete;

  /// The number of elements; fails if it is not an array or has more than `max`.
  [[nodiscard]] std::size_t array_size(std::size_t max = SIZE_MAX) const;
  [[nodiscard]] std::int64_t integer(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const;
  /// Any number; never infinite or NaN, which JSON does not have.
  [[nodiscard]] double number(double min, double max) const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const std::string& text() const;

  /// The field's value, or `otherwise` where it is missing or null.
  [[nodiscard]] std::int64_t integer_or(std::string_view key, std::int64_t otherwise, std::int64_t min,
                                        std::int64_t max) const;
  [[nodiscard]] bool boolean_or(std::string_view key, bool otherwise) const;
  /// Fails on a field that is not among `known`: a misspelt one must not pass for an absent one.
  void allow_only(std::initializer_list<std::string_view> known) const;

  /// "rules[3].bytes"; empty for the document.
  [[nodiscard]] std::string path() const;
  /// Throws FormatError: the path, then what is wrong.
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
