// What can be found out about one server of the list without a session.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/connect/server_version.hpp"
#include "cli/doctor/raw_connection.hpp"

namespace conclave::cli {

struct host_facts {
  endpoint at;
  trouble problem;  // if it could not be reached; otherwise empty
  std::string address;
  std::chrono::nanoseconds connect_time{0};
  std::optional<tls_facts> tls;

  // By four-letter words; empty where they are not allowed.
  std::string version, mode, identity;
  std::int64_t zxid = 0;
  std::string data_folder;  // an empty one, of our own server: in memory only
  bool tells_folder = false;
  std::map<std::string, std::string> figures;  // mntr
  bool serving = true;                         // false: it runs, but has no majority
  bool silent = false;                         // it answers nothing at all
  bool strange = false;                        // it answers what no ZooKeeper would

  bool reached() const { return problem.what.empty(); }
  // "0.1.0" if it is our own server; otherwise empty.
  std::string conclave_version() const { return cli::conclave_version(version); }
  // 0 if it is not there.
  std::int64_t figure(const std::string& name) const;
};

// All hosts at the same time, until the deadline.
std::vector<host_facts> look_at(const std::vector<endpoint>& hosts,
                                const std::optional<tls_options>& tls, deadline until);

}  // namespace conclave::cli
