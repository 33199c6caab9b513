// Serialisation of ZooKeeper's protocol. Integers are big-endian. A string or buffer is an int32
// length (-1 for null) followed by its bytes. A vector is an int32 count followed by its elements.
//
// A record lists its fields once, for reading and writing:
//
//   struct get_request {
//     std::string_view path;
//     bool watch = false;
//     static void fields(auto& io, auto& r) { io(r.path, r.watch); }
//   };
//
// Strings are views. When reading, they point into the frame. When writing, they point to the
// caller's data. A null string is a view whose data() is null.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace conclave::wire {

template <class T, class Io>
concept record_of = requires(Io& io, T& r) {
  std::remove_const_t<T>::fields(io, r);
};

template <std::unsigned_integral U>
constexpr U big_endian(U v) noexcept {
  if constexpr (sizeof(U) == 1) return v;
  if constexpr (sizeof(U) == 4) return __builtin_bswap32(v);
  if constexpr (sizeof(U) == 8) return __builtin_bswap64(v);
}

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

// Bytes that are already encoded and are written unchanged.
struct encoded {
  std::string_view bytes;
};

class writer {
 public:
  explicit writer(std::string& out) : out_{out} {}

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }

 private:
  template <class T>
  void put(const T& v) {
    if constexpr (std::is_same_v<T, bool>) {
      out_.push_back(v ? '\1' : '\0');
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(v));
    } else if constexpr (std::integral<T>) {
      const auto bytes = big_endian(static_cast<std::make_unsigned_t<T>>(v));
      out_.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    } else if constexpr (std::is_same_v<T, encoded>) {
      out_.append(v.bytes);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      const std::string_view s = v;
      put(s.data() == nullptr ? std::int32_t{-1} : static_cast<std::int32_t>(s.size()));
      if (!s.empty()) out_.append(s);
    } else if constexpr (is_vector<T>) {
      put(static_cast<std::int32_t>(v.size()));
      for (const auto& element : v) put(element);
    } else {
      static_assert(record_of<const T, writer>);
      T::fields(*this, v);
    }
  }

  std::string& out_;
};

// Reads values from a frame, never beyond its end. After the first error, ok() is false and all
// further values are zero or empty.
class reader {
 public:
  explicit reader(std::string_view in) : rest_{in} {}

  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return rest_.empty(); }
  std::size_t remaining() const noexcept { return rest_.size(); }
  void fail() noexcept {
    ok_ = false;
    rest_ = {};
  }

  template <class... T>
  void operator()(T&... values) {
    (take(values), ...);
  }

  template <class T>
  T read() {
    T value{};
    take(value);
    return value;
  }

 private:
  template <class T>
  void take(T& v) {
    if constexpr (std::is_same_v<T, bool>) {
      v = read<std::uint8_t>() != 0;
    } else if constexpr (std::is_enum_v<T>) {
      v = static_cast<T>(read<std::underlying_type_t<T>>());
    } else if constexpr (std::integral<T>) {
      std::make_unsigned_t<T> bytes{};
      if (rest_.size() < sizeof bytes) {
        fail();
        v = 0;
        return;
      }
      std::memcpy(&bytes, rest_.data(), sizeof bytes);
      rest_.remove_prefix(sizeof bytes);
      v = static_cast<T>(big_endian(bytes));
    } else if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>) {
      take_string(v);
    } else if constexpr (is_vector<T>) {
      take_vector(v);
    } else {
      static_assert(record_of<T, reader>);
      T::fields(*this, v);
    }
  }

  template <class S>
  void take_string(S& v) {
    v = S{};
    const auto length = read<std::int32_t>();
    if (!ok_ || length == -1) return;
    if (length < 0 || static_cast<std::size_t>(length) > rest_.size()) return fail();
    v = S{rest_.data(), static_cast<std::size_t>(length)};
    rest_.remove_prefix(static_cast<std::size_t>(length));
  }

  template <class E>
  void take_vector(std::vector<E>& v) {
    v.clear();
    const auto count = read<std::int32_t>();
    if (!ok_ || count == -1) return;
    // Every element takes at least one byte, so a larger count is invalid. Reject it before
    // allocating memory.
    if (count < 0 || static_cast<std::size_t>(count) > rest_.size()) return fail();
    for (std::int32_t i = 0; i < count && ok_; ++i) take(v.emplace_back());
    if (!ok_) v.clear();
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace conclave::wire
