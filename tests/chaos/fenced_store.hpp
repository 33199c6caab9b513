// The store that the locks protect. It refuses writes with a lower token than the highest so far
// for the resource. The driver serves it on a Unix socket, and the workers write to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "checkers/fenced_resource.hpp"

namespace conclave::chaos {

class fenced_store {
 public:
  explicit fenced_store(const std::filesystem::path& socket);
  ~fenced_store();
  fenced_store(const fenced_store&) = delete;
  fenced_store& operator=(const fenced_store&) = delete;

 private:
  void serve();
  bool answer(int connection);

  int listener_ = -1;
  int stop_[2] = {-1, -1};
  std::map<std::string, checkers::fenced_resource> resources_;
  std::thread thread_;
};

// A worker's connection. Throws std::system_error if the store is gone.
class fenced_store_link {
 public:
  explicit fenced_store_link(const std::filesystem::path& socket);
  ~fenced_store_link();
  fenced_store_link(const fenced_store_link&) = delete;
  fenced_store_link& operator=(const fenced_store_link&) = delete;

  bool write(const std::string& resource, std::int64_t token);  // false if refused
  std::int64_t highest(const std::string& resource);            // the highest token so far

 private:
  int socket_ = -1;
};

}  // namespace conclave::chaos
