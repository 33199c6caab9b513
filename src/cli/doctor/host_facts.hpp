// Facts about one server of the connect string that can be found without a session.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/connect/server_version.hpp"
#include "conclave/query_server.hpp"

namespace conclave::cli {

// What failed, and what to do about it.
struct connect_problem {
  std::string what, advice;
};

// A server's reply to the four-letter word srvr.
enum class srvr_reply {
  normal,
  none,           // the server does not answer
  not_serving,    // the server runs but its ensemble has no majority
  not_zookeeper,  // the reply is not from a ZooKeeper server
};

struct host_facts {
  endpoint at;
  connect_problem problem;  // set if the server could not be reached
  std::string address;
  std::chrono::nanoseconds connect_time{0};
  std::optional<tls_info> tls;

  // These members come from replies to four-letter words. They are empty if the server does not
  // allow these words.
  std::string version, mode, identity;
  std::int64_t zxid = 0;
  std::string data_folder;  // empty if the embedded server keeps its data only in memory
  bool reports_data_folder = false;
  std::map<std::string, std::string> figures;  // the reply to mntr
  srvr_reply reply = srvr_reply::normal;

  bool reached() const { return problem.what.empty(); }
  // Returns "0.1.0" for the embedded server, and an empty string for any other server.
  std::string conclave_version() const { return cli::conclave_version(version); }
  // Returns the value with this name in `figures`, or 0 if there is none.
  std::int64_t figure(const std::string& name) const;
};

// Examines all hosts concurrently. Returns at the deadline at the latest.
std::vector<host_facts> examine_hosts(const std::vector<endpoint>& hosts,
                                      const std::optional<tls_options>& tls,
                                      std::chrono::steady_clock::time_point until);

}  // namespace conclave::cli
