// One client library under test, reduced to what the workloads need.
//
// Every call throws std::runtime_error when an operation fails or takes longer than time_limit.
// For one calling thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace conclave::bench {

inline constexpr std::chrono::seconds time_limit{60};

class contestant {
 public:
  contestant() = default;
  contestant(const contestant&) = delete;
  contestant& operator=(const contestant&) = delete;
  virtual ~contestant() = default;

  // Blocking, one at a time.
  virtual void create(const std::string& path, const std::string& data) = 0;
  virtual void get(const std::string& path) = 0;

  // Pipelined: `window` requests under way, each completion starts the next one.
  virtual void create_all(std::span<const std::string> paths, const std::string& data,
                          std::size_t window) = 0;
  virtual void get_all(const std::string& path, std::size_t count, std::size_t window) = 0;
};

inline constexpr const char* conclave_name = "conclave";
// As it comes: it resolves the servers' names again (getaddrinfo) on every turn of its I/O loop.
inline constexpr const char* libzookeeper_name = "libzookeeper";
// With zoo_set_servers_resolution_delay(-1), which its header offers to applications that mind.
// Without this one, a comparison would mostly show that default.
inline constexpr const char* tuned_libzookeeper_name = "libzookeeper-tuned";
inline constexpr const char* contestants[] = {conclave_name, libzookeeper_name,
                                              tuned_libzookeeper_name};

enum class name_resolution { by_default, on_connecting_only };

// Connected when they return.
std::unique_ptr<contestant> make_conclave(const std::string& servers);
std::unique_ptr<contestant> make_libzookeeper(const std::string& servers, name_resolution when);
std::unique_ptr<contestant> make_contestant(std::string_view name, const std::string& servers);

}  // namespace conclave::bench
