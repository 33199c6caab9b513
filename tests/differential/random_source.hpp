// Random choices, the same for the same seed on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace conclave::differential {

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : random_{seed} {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }

  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + below(choices.size()));
  }

  // Returns a random index. The probability of an index is proportional to its weight.
  std::size_t weighted_index(std::initializer_list<std::size_t> weights) {
    std::size_t all = 0;
    for (const auto w : weights) all += w;
    auto left = below(all);
    std::size_t i = 0;
    for (const auto w : weights) {
      if (left < w) break;
      left -= w;
      ++i;
    }
    return i;
  }

  std::string bytes(std::size_t size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(below(256)));
    return bytes;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace conclave::differential
