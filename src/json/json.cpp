// SPDX-License-Identifier: Apache-2.0
#include "json/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace antiphon {

namespace {

bool is_member(const Json& element) {
  return element.is_array() && element.size() == 2 && element.at(std::size_t{0}).is_string();
}

void sort_members(Json::Object& members) {
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

/// Writes numbers and texts as nlohmann's serializer does.
std::string scalar_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_integer(std::string& out, auto value) {
  std::array<char, 24> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void write_string(std::string& out, const std::string& text) {
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; });
  if (is_plain) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out += scalar_text(text);
  }
}

}  // namespace

/// Builds a value from the parser's events.
class Json::Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(Json& root) : slot_(&root) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(std::string& name) override {
    Object& members = *open_.back()->object_;
    members.emplace_back(std::move(name), Json());
    slot_ = &members.back().second;
    return true;
  }
  bool end_object() override {
    Object& members = *open_.back()->object_;
    sort_members(members);
    // Among equal keys the last one counts, so the search for repetitions runs backwards.
    const auto repeated = std::unique(members.rbegin(), members.rend(), [](const auto& later, const auto& sooner) {
      return later.first == sooner.first;
    });
    members.erase(members.begin(), repeated.base());
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    // The tag in "[json.exception.parse_error.101] parse error at line 1, column 2: …" is of no use to people.
    const std::string_view what = error.what();
    const std::size_t tag_end = what.find("] ");
    throw JsonError(std::string(tag_end == std::string_view::npos ? what : what.substr(tag_end + 2)));
  }

 private:
  bool put(Json value) {
    place() = std::move(value);
    return true;
  }
  bool open(Json container) {
    // Copying and writing go down level by level, on the stack.
    if (open_.size() >= most_levels)
      throw JsonError("values are nested in more than " + std::to_string(most_levels) + " others");
    Json& here = place();
    here = std::move(container);
    open_.push_back(&here);
    return true;
  }
  /// Returns where the next value goes: into the innermost open array, or into the member of the most recent key.
  Json& place() {
    if (open_.empty() || !open_.back()->is_array()) return *slot_;
    return open_.back()->array_->emplace_back();
  }

  static constexpr std::size_t most_levels = 256;

  Json* slot_;
  std::vector<Json*> open_;
};

Json::Json(std::string value) : type_(Type::string), string_(new std::string(std::move(value))) {}

Json::Json(std::initializer_list<Json> elements) {
  if (!std::all_of(elements.begin(), elements.end(), is_member)) {
    *this = array(elements);
    return;
  }
  *this = object();
  for (const Json& element : elements) (*this)[(*element.array_)[0].as_string()] = (*element.array_)[1];
}

Json::Json(const Json& other) : type_(other.type_) {
  switch (type_) {
    case Type::string: string_ = new std::string(*other.string_); break;
    case Type::array: array_ = new Array(*other.array_); break;
    case Type::object: object_ = new Object(*other.object_); break;
    default: natural_ = other.natural_; break;
  }
}

Json::~Json() {
  if (type_ == Type::string) delete string_;
  if (type_ != Type::array && type_ != Type::object) return;
  Array waiting;
  hand_over(waiting);
  while (!waiting.empty()) {
    Json next = std::move(waiting.back());
    waiting.pop_back();
    next.hand_over(waiting);
  }
  if (type_ == Type::array) delete array_;
  if (type_ == Type::object) delete object_;
}

void Json::hand_over(Array& below) {
  const auto take = [&](Json& child) {
    if ((child.is_array() || child.is_object()) && !child.empty()) below.push_back(std::move(child));
  };
  if (type_ == Type::array) std::for_each(array_->begin(), array_->end(), take);
  if (type_ == Type::object)
    std::for_each(object_->begin(), object_->end(), [&](auto& member) { take(member.second); });
}

Json Json::array(std::initializer_list<Json> elements) {
  Json result;
  result.array_ = new Array(elements);
  result.type_ = Type::array;
  return result;
}

Json Json::object() {
  Json result;
  result.object_ = new Object();
  result.type_ = Type::object;
  return result;
}

Json Json::parse(std::string_view text) {
  Json root;
  Reader reader(root);
  nlohmann::json::sax_parse(text, &reader);
  return root;
}

Json Json::sorted() const {
  Json result;
  if (is_array()) {
    result = array();
    for (const Json& element : *array_) result.push_back(element.sorted());
  } else if (is_object()) {
    result = object();
    for (const auto& [key, value] : *object_) result.object_->emplace_back(key, value.sorted());
    sort_members(*result.object_);
  } else {
    result = *this;
  }
  return result;
}

bool Json::operator==(const Json& other) const {
  if (is_integer() && other.is_integer()) {
    return integer_ == other.integer_ && is_above_int64() == other.is_above_int64();
  }
  if (is_number() && other.is_number()) return as_real() == other.as_real();
  if (type_ != other.type_) return false;
  switch (type_) {
    case Type::boolean: return boolean_ == other.boolean_;
    case Type::string: return *string_ == *other.string_;
    case Type::array: return *array_ == *other.array_;
    case Type::object: return *object_ == *other.object_;
    default: return true;
  }
}

std::size_t Json::size() const {
  if (is_null()) return 0;
  if (is_array()) return array_->size();
  return is_object() ? object_->size() : 1;
}

const Json::Array& Json::elements() const {
  static const Array none;
  return is_array() ? *array_ : none;
}

const Json::Object& Json::members() const {
  static const Object none;
  return is_object() ? *object_ : none;
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  if (!is_object()) throw JsonError(std::string("cannot use at() with ") + type_name());
  const Json* found = find(key);
  if (found == nullptr) throw JsonError("key '" + std::string(key) + "' not found");
  return *found;
}

const Json& Json::at(std::size_t index) const {
  if (!is_array()) throw JsonError(std::string("cannot use at() with ") + type_name());
  if (index >= array_->size()) throw JsonError("array index " + std::to_string(index) + " is out of range");
  return (*array_)[index];
}

const char* Json::type_name() const {
  if (is_number()) return "number";
  constexpr std::array names{"null", "boolean", "number", "number", "number", "string", "array", "object"};
  return names[static_cast<std::size_t>(type_)];
}

bool Json::as_boolean() const {
  if (!is_boolean()) throw JsonError(std::string("type must be boolean, but is ") + type_name());
  return boolean_;
}

std::int64_t Json::as_integer() const {
  if (type_ == Type::real) return static_cast<std::int64_t>(real_);
  if (type_ == Type::boolean) return boolean_ ? 1 : 0;
  if (!is_integer()) throw JsonError(std::string("type must be number, but is ") + type_name());
  return integer_;
}

double Json::as_real() const {
  if (type_ == Type::real) return real_;
  if (type_ == Type::natural) return static_cast<double>(natural_);
  return static_cast<double>(as_integer());
}

const std::string& Json::as_string() const {
  if (!is_string()) throw JsonError(std::string("type must be string, but is ") + type_name());
  return *string_;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (!is_object()) throw JsonError(std::string("cannot use operator[] with ") + type_name());
  for (auto& [name, value] : *object_) {
    if (name == key) return value;
  }
  return object_->emplace_back(key, Json()).second;
}

Json& Json::push_back(Json element) {
  if (is_null()) *this = array();
  if (!is_array()) throw JsonError(std::string("cannot use push_back() with ") + type_name());
  return array_->emplace_back(std::move(element));
}

void Json::update(const Json& other) {
  for (const auto& [key, value] : other.members()) (*this)[key] = value;
}

void Json::erase(std::string_view key) {
  if (is_object()) std::erase_if(*object_, [&](const auto& member) { return member.first == key; });
}

void Json::swap(Json& other) noexcept {
  std::swap(type_, other.type_);
  // Every member of the union has the size of natural_.
  std::swap(natural_, other.natural_);
}

std::string Json::dump(int indent) const {
  std::string out;
  write(out, indent, 0);
  return out;
}

void Json::write(std::string& out, int indent, int depth) const {
  const auto new_line = [&](int level) {
    if (indent >= 0)
      out.append(1, '\n').append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  };
  const auto list = [&](const auto& parts, const char* brackets, auto write_part) {
    out += brackets[0];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out += ',';
      new_line(depth + 1);
      write_part(parts[i]);
    }
    if (!parts.empty()) new_line(depth);
    out += brackets[1];
  };
  switch (type_) {
    case Type::null: out += "null"; break;
    case Type::boolean: out += boolean_ ? "true" : "false"; break;
    case Type::integer: write_integer(out, integer_); break;
    case Type::natural: write_integer(out, natural_); break;
    case Type::real: out += scalar_text(real_); break;
    case Type::string: write_string(out, *string_); break;
    case Type::array: list(*array_, "[]", [&](const Json& element) { element.write(out, indent, depth + 1); }); break;
    case Type::object:
      list(*object_, "{}", [&](const auto& member) {
        write_string(out, member.first);
        out += indent >= 0 ? ": " : ":";
        member.second.write(out, indent, depth + 1);
      });
      break;
  }
}

}  // namespace antiphon
