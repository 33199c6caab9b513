// The nodes that the workloads use, made and removed outside the measured time.
#pragma once

#include <string>

#include <conclave/client.hpp>

namespace conclave::bench {

class nodes {
 public:
  explicit nodes(const std::string& servers);  // makes root_path and node_path

  std::string new_parent();  // a path that was not used yet; not created
  void remove_with_children(const std::string& parent);

 private:
  client client_;
  int parents_{0};
};

}  // namespace conclave::bench
