// The interface of a client library with the calls that the workloads need.
//
// Every call throws std::runtime_error if an operation fails or takes longer than time_limit. Only
// one thread may call these functions.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace conclave::bench {

class client_library {
 public:
  client_library() = default;
  client_library(const client_library&) = delete;
  client_library& operator=(const client_library&) = delete;
  virtual ~client_library() = default;

  // Blocking calls.
  virtual void create(const std::string& path, const std::string& data) = 0;
  virtual void get(const std::string& path) = 0;

  // Pipelined calls with `window` requests in flight. Each completion starts the next request.
  virtual void create_all(std::span<const std::string> paths, const std::string& data,
                          std::size_t window) = 0;
  virtual void get_all(const std::string& path, std::size_t count, std::size_t window) = 0;
};

namespace variant {
inline constexpr const char* conclave = "conclave";
// By default, libzookeeper resolves the servers' names (getaddrinfo) in every iteration of its I/O
// loop.
inline constexpr const char* libzookeeper = "libzookeeper";
// With zoo_set_servers_resolution_delay(-1), libzookeeper does not do this. Without this variant, a
// comparison would mostly show the cost of the default.
inline constexpr const char* tuned_libzookeeper = "libzookeeper-tuned";
inline constexpr const char* all[] = {conclave, libzookeeper, tuned_libzookeeper};
}  // namespace variant

enum class name_resolution { by_default, on_connecting_only };

// The returned clients are connected.
std::unique_ptr<client_library> make_conclave(const std::string& servers);
std::unique_ptr<client_library> make_libzookeeper(const std::string& servers, name_resolution when);

}  // namespace conclave::bench
