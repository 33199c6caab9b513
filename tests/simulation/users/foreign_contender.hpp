// Contenders of other libraries. Such a contender lists the children, recognizes only the names of
// its own library, and waits until no contender ahead of it excludes it. Its connection is never
// lost. When the server restarts, the contender starts again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "conclave/layout.hpp"
#include "simulation/users/locker.hpp"

namespace conclave::simulated {

class foreign_contender : public std::enable_shared_from_this<foreign_contender> {
 public:
  struct library {
    std::string kind;    // "their_mutex", "their_reader", "their_writer"
    std::string prefix;  // of its nodes' names, before the sequence number
    layout names;
    bool shared = false;                     // holds together with other readers
    std::function<bool(layout::role)> sees;  // whether it waits for a contender of this role
  };
  using later = std::function<void(instant, std::function<void()>)>;
  using random = std::function<instant(instant most)>;

  foreign_contender(world& w, std::shared_ptr<judge> j, std::string path, library what, later call,
                    random within)
      : world_{w},
        judge_{std::move(j)},
        path_{std::move(path)},
        what_{std::move(what)},
        later_{std::move(call)},
        within_{std::move(within)} {}

  void begin();
  // Releases the lock and removes its nodes.
  void end();
  // Must be called after somebody deleted this node by hand.
  void node_was_deleted(const std::string& node);

  const std::string& kind() const noexcept { return what_.kind; }
  bool contends() const noexcept { return !node_.empty(); }
  int grants() const noexcept { return grants_; }

 private:
  void come();
  void look();
  void leave();
  void clean_up();
  bool may_go_on();

  world& world_;
  std::shared_ptr<judge> judge_;
  std::string path_;
  library what_;
  later later_;
  random within_;
  std::unique_ptr<direct_client> client_;
  int generation_ = 0;
  std::string node_;
  bool holds_ = false;
  bool over_ = false;
  bool dirty_ = false;  // there may be a node that it does not know
  int grants_ = 0;
};

}  // namespace conclave::simulated
