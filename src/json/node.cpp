// SPDX-License-Identifier: Apache-2.0
#include "json/node.hpp"

#include <algorithm>

#include "antiphon/error.hpp"

namespace antiphon {

Json JsonNode::parse(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw FormatError("the document has " + std::to_string(text.size()) + " bytes, more than the " +
                      std::to_string(max_bytes) + " allowed");
  }
  try {
    return Json::parse(text);
  } catch (const JsonError& error) {
    throw FormatError(std::string("not valid JSON: ") + error.what());
  }
}

JsonNode JsonNode::at(std::string_view key) const& {
  if (!value_->is_object()) fail("expected an object");
  const Json* found = value_->find(key);
  if (found == nullptr) fail("the field \"" + std::string(key) + "\" is missing");
  return {*found, *this, key, 0};
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const& {
  if (!value_->is_object()) fail("expected an object");
  const Json* found = value_->find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  return JsonNode(*found, *this, key, 0);
}

JsonNode JsonNode::element(std::size_t i) const& { return {value_->at(i), *this, {}, i}; }

std::size_t JsonNode::array_size(std::size_t max) const {
  if (!value_->is_array()) fail("expected an array");
  if (value_->size() > max)
    fail("has " + std::to_string(value_->size()) + " elements, more than the " + std::to_string(max) + " allowed");
  return value_->size();
}

std::int64_t JsonNode::integer(std::int64_t min, std::int64_t max) const {
  if (!value_->is_integer()) fail("expected a whole number");
  const std::int64_t number = value_->as_integer();
  if (value_->is_above_int64() || number < min || number > max) {
    fail(value_->dump() + " is not within " + std::to_string(min) + "…" + std::to_string(max));
  }
  return number;
}

double JsonNode::number(double min, double max) const {
  if (!value_->is_number()) fail("expected a number");
  const double number = value_->as_real();
  if (!(number >= min && number <= max))
    fail(value_->dump() + " is not within " + Json(min).dump() + "…" + Json(max).dump());
  return number;
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail("expected true or false");
  return value_->as_boolean();
}

const std::string& JsonNode::text() const {
  if (!value_->is_string()) fail("expected a string");
  return value_->as_string();
}

std::int64_t JsonNode::integer_or(std::string_view key, std::int64_t otherwise, std::int64_t min,
                                  std::int64_t max) const {
  const auto field = find(key);
  return field ? field->integer(min, max) : otherwise;
}

bool JsonNode::boolean_or(std::string_view key, bool otherwise) const {
  const auto field = find(key);
  return field ? field->boolean() : otherwise;
}

void JsonNode::allow_only(std::initializer_list<std::string_view> known) const {
  if (!value_->is_object()) fail("expected an object");
  for (const auto& [key, unused] : value_->members()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string fields;
    for (const std::string_view k : known) fields += (fields.empty() ? "" : ", ") + std::string(k);
    fail("unknown field " + Json(key).dump() + " (there are: " + fields + ")");
  }
}

std::string JsonNode::path() const {
  if (parent_ == nullptr) return {};
  const std::string before = parent_->path();
  if (key_.empty()) return before + '[' + std::to_string(index_) + ']';
  return before.empty() ? std::string(key_) : before + '.' + std::string(key_);
}

void JsonNode::fail(const std::string& what) const {
  const std::string where = path();
  throw FormatError(where.empty() ? what : where + ": " + what);
}

}  // namespace antiphon
