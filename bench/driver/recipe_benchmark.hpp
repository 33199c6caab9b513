// Shared by the benchmarks of locks and queues: variants of several libraries, each with two worker
// processes, on one Apache ZooKeeper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <conclave/client.hpp>

#include "driver/driver.hpp"
#include "driver/process.hpp"
#include "support/zookeeper_server.hpp"

namespace conclave::bench {

enum class library { conclave, curator, kazoo, zookeeper };

// The programs and paths to start the workers of the other libraries.
struct peer_programs {
  const char* java;
  const char* class_path;
  const char* java_class;
  const char* kazoo_script;
};

std::string version_of_jar(const std::string& jar);  // the version of Debian's package
std::string version_of_kazoo();

// The server, a client of the benchmark itself, and the workers. A worker starts when it is first
// needed and runs until the end of the benchmark.
class recipe_rounds {
 public:
  static constexpr const char* parent = "/bench";  // of all paths

  // If a core is given, pins the server and all workers to it.
  recipe_rounds(bool force_sync, std::optional<int> cpu, const peer_programs& programs);
  recipe_rounds(const recipe_rounds&) = delete;
  recipe_rounds& operator=(const recipe_rounds&) = delete;

  const testing::zookeeper_server& server() const { return server_; }
  // Returns a new path for a round. All paths have the same length.
  std::string new_path();

 protected:
  ~recipe_rounds() = default;
  static constexpr std::size_t workers_of_a_library = 2;

  // Divides `all` into `parts` that differ by at most one, and returns part `number`.
  static std::size_t part(std::size_t all, std::size_t parts, std::size_t number);

  client& control() { return control_; }

  // The commands of recipe_worker.hpp. prepare_workers() takes the arguments for each worker of the
  // round. The other functions use these workers. A command is sent to all workers before the
  // functions wait for the replies.
  void prepare_workers(library l, const std::vector<std::string>& arguments);
  void start_workers();
  std::int64_t count();  // the sum of all workers
  std::vector<std::string> stop_workers(const std::vector<std::string>& arguments = {});

 private:
  worker_process& worker(library l, std::size_t number);

  peer_programs programs_;
  std::optional<int> cpu_;
  testing::zookeeper_server server_;
  std::optional<pinned_process> pin_;
  client control_;
  std::map<std::pair<library, std::size_t>, std::unique_ptr<worker_process>> workers_;
  std::vector<worker_process*> active_;  // the workers of this round
  int paths_{0};
};

class recipe_benchmark : public benchmark {
 public:
  std::vector<option> extra_options() override;

 protected:
  bool force_sync() const { return force_sync_; }
  std::optional<int> cpu() const;
  environment common_environment(const testing::zookeeper_server& server,
                                 const std::string& peers) const;

 private:
  bool force_sync_{true};
  bool one_core_{false};
};

}  // namespace conclave::bench
