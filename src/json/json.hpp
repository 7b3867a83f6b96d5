// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace antiphon {

/// The error for a text that is no JSON, or for a value of another type than the caller expects.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A JSON value. This interface is all that other files see of JSON: the parser's header takes seconds to compile, so
/// only json.cpp includes it. Documents from outside are read through JsonNode, which names the field that is wrong.
class Json {
 public:
  using Array = std::vector<Json>;
  /// Members keep the order in which they were added; those of a parsed object are in the order of their keys.
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(std::same_as<bool> auto value) : type_(Type::boolean), boolean_(value) {}
  Json(std::signed_integral auto value) : type_(Type::integer), integer_(value) {}
  Json(std::unsigned_integral auto value)
    requires(!std::same_as<decltype(value), bool>)
      : type_(Type::natural), natural_(value) {}
  Json(std::floating_point auto value) : type_(Type::real), real_(static_cast<double>(value)) {}
  Json(std::string value);
  Json(std::string_view value) : Json(std::string(value)) {}
  Json(const char* value) : Json(std::string(value)) {}
  template <typename T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const auto& value : values) push_back(value);
  }
  /// An object where every element is a pair that begins with a string, otherwise an array.
  Json(std::initializer_list<Json> elements);
  Json(const Json& other);
  Json(Json&& other) noexcept { swap(other); }
  Json& operator=(Json other) noexcept {
    swap(other);
    return *this;
  }
  ~Json();

  static Json array(std::initializer_list<Json> elements = {});
  static Json object();
  /// Throws JsonError if `text` is no JSON. Of members with the same key, the last one counts.
  static Json parse(std::string_view text);
  /// Writes the value on one line, or indented by `indent` spaces a level. Invalid UTF-8 is replaced, since file names
  /// may hold any bytes.
  [[nodiscard]] std::string dump(int indent = -1) const;
  /// Returns the same value with all members in the order of their keys.
  [[nodiscard]] Json sorted() const;

  [[nodiscard]] bool is_null() const { return type_ == Type::null; }
  [[nodiscard]] bool is_boolean() const { return type_ == Type::boolean; }
  /// Returns whether this is a number without a fraction.
  [[nodiscard]] bool is_integer() const { return type_ == Type::integer || type_ == Type::natural; }
  [[nodiscard]] bool is_number() const { return is_integer() || type_ == Type::real; }
  [[nodiscard]] bool is_string() const { return type_ == Type::string; }
  [[nodiscard]] bool is_array() const { return type_ == Type::array; }
  [[nodiscard]] bool is_object() const { return type_ == Type::object; }
  bool operator==(const Json& other) const;

  /// Returns the number of elements or members; 0 for null, 1 for anything else.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Returns the elements of an array; none of any other value.
  [[nodiscard]] const Json* begin() const { return elements().data(); }
  [[nodiscard]] const Json* end() const { return elements().data() + elements().size(); }
  /// Returns the members of an object; none of any other value.
  [[nodiscard]] const Object& members() const;
  /// Returns an object's member, or nullptr where there is none.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }
  /// These functions throw JsonError where there is no such member or element.
  [[nodiscard]] const Json& at(std::string_view key) const;
  [[nodiscard]] const Json& at(std::size_t index) const;
  /// Returns a bool, a number, or a std::string; throws JsonError where the value is of another type.
  template <typename T>
  [[nodiscard]] T get() const {
    if constexpr (std::same_as<T, bool>) {
      return as_boolean();
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(as_real());
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(as_integer());
    } else {
      static_assert(std::same_as<T, std::string> || std::same_as<T, std::string_view>);
      return T(as_string());
    }
  }
  /// Returns the member's value, or `otherwise` where there is no such member.
  template <typename T>
  [[nodiscard]] T value(std::string_view key, T otherwise) const {
    const Json* found = find(key);
    return found == nullptr ? std::move(otherwise) : found->get<T>();
  }
  [[nodiscard]] bool as_boolean() const;
  /// A whole number, cut to 64 bits; what is above INT64_MAX is_above_int64().
  [[nodiscard]] std::int64_t as_integer() const;
  [[nodiscard]] bool is_above_int64() const { return type_ == Type::natural && natural_ > std::uint64_t{INT64_MAX}; }
  [[nodiscard]] double as_real() const;
  [[nodiscard]] const std::string& as_string() const;

  /// Returns the member of that key, added as null where there is none; null itself becomes an object.
  Json& operator[](std::string_view key);
  /// Appends to an array; null itself becomes an array.
  Json& push_back(Json element);
  /// Sets every member of another object here.
  void update(const Json& other);
  /// Removes a member, if there is one.
  void erase(std::string_view key);
  void swap(Json& other) noexcept;

 private:
  enum class Type : std::uint8_t { null, boolean, integer, natural, real, string, array, object };

  [[nodiscard]] const Array& elements() const;
  [[nodiscard]] const char* type_name() const;
  void write(std::string& out, int indent, int depth) const;
  /// Takes the containers directly below out of this value, so that deep documents are destroyed without recursion.
  void hand_over(Array& below);
  class Reader;

  Type type_ = Type::null;
  union {
    bool boolean_;
    std::int64_t integer_;
    std::uint64_t natural_ = 0;
    double real_;
    std::string* string_;
    Array* array_;
    Object* object_;
  };
};

}  // namespace antiphon
