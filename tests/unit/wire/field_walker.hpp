// Two visitors of a record's fields that share no code with the encoder or the decoder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wire/archive.hpp"

namespace conclave::wire {

// The values as text. Distinguishes null and empty.
class field_text {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  const std::string& text() const { return text_; }

 private:
  template <class T>
  void put(const T& v) {
    if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(v));
    } else if constexpr (std::is_arithmetic_v<T>) {
      text_ += std::to_string(v) + ' ';
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      text_ += v.data() == nullptr ? "null " : '\'' + std::string{v} + "' ";
    } else if constexpr (is_vector<T>) {
      text_ += "[ ";
      for (const auto& element : v) put(element);
      text_ += "] ";
    } else {
      T::fields(*this, v);
    }
  }

  std::string text_;
};

template <class Record>
std::string text_of(const Record& r) {
  field_text t;
  t(r);
  return t.text();
}

// The positions of string lengths and vector counts.
class length_finder {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  const std::vector<std::size_t>& found() const { return found_; }

 private:
  template <class T>
  void put(const T& v) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      at_ += sizeof(T);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      found_.push_back(at_);
      at_ += 4 + v.size();
    } else if constexpr (is_vector<T>) {
      found_.push_back(at_);
      at_ += 4;
      for (const auto& element : v) put(element);
    } else {
      T::fields(*this, v);
    }
  }

  std::size_t at_ = 0;
  std::vector<std::size_t> found_;
};

}  // namespace conclave::wire
