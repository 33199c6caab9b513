#include "cycle.hpp"

#include <chrono>
#include <fstream>
#include <stdexcept>

namespace conclave::bench {

std::int64_t monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void write_cycles(const std::filesystem::path& file, const std::vector<cycle>& cycles) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(cycles.data()),
            static_cast<std::streamsize>(cycles.size() * sizeof(cycle)));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

std::vector<cycle> read_cycles(const std::filesystem::path& file) {
  const auto size = std::filesystem::file_size(file);
  if (size % sizeof(cycle) != 0) throw std::runtime_error("half a cycle in " + file.string());
  std::vector<cycle> cycles(size / sizeof(cycle));
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(cycles.data()), static_cast<std::streamsize>(size));
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return cycles;
}

}  // namespace conclave::bench
