// SPDX-License-Identifier: Apache-2.0
#include "schedule/json_node.hpp"

#include <algorithm>

#include "antiphon/error.hpp"

namespace antiphon {

using nlohmann::json;

json JsonNode::parse(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw FormatError("the document has " + std::to_string(text.size()) + " bytes, more than the " +
                      std::to_string(max_bytes) + " allowed");
  }
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …": the tag is of no use to people.
    const std::string_view what = error.what();
    const std::size_t tag_end = what.find("] ");
    throw FormatError("not valid JSON: " +
                      std::string(tag_end == std::string_view::npos ? what : what.substr(tag_end + 2)));
  }
}

JsonNode JsonNode::at(std::string_view key) const& {
  if (!value_->is_object()) fail("expected an object");
  const auto found = value_->find(key);
  if (found == value_->end()) fail("the field \"" + std::string(key) + "\" is missing");
  return {*found, *this, key, 0};
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const& {
  if (!value_->is_object()) fail("expected an object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
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
  if (!value_->is_number_integer()) fail("expected a whole number");
  const bool too_large =
      value_->is_number_unsigned() && value_->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  const std::int64_t number = too_large ? 0 : value_->get<std::int64_t>();
  if (too_large || number < min || number > max) {
    fail(value_->dump() + " is not within " + std::to_string(min) + "…" + std::to_string(max));
  }
  return number;
}

double JsonNode::number(double min, double max) const {
  if (!value_->is_number()) fail("expected a number");
  const double number = value_->get<double>();
  if (!(number >= min && number <= max))
    fail(value_->dump() + " is not within " + json(min).dump() + "…" + json(max).dump());
  return number;
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail("expected true or false");
  return value_->get<bool>();
}

const std::string& JsonNode::text() const {
  if (!value_->is_string()) fail("expected a string");
  return value_->get_ref<const std::string&>();
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
  for (const auto& [key, unused] : value_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string fields;
    for (const std::string_view k : known) fields += (fields.empty() ? "" : ", ") + std::string(k);
    fail("unknown field " + json(key).dump(-1, ' ', false, json::error_handler_t::replace) + " (there are: " + fields +
         ")");
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
