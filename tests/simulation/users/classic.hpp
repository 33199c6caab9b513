// Contenders of other libraries, as the server sees them: each lists the children, knows only its
// own library's names, and waits until nobody before it is in its way. No connection of theirs ever
// breaks; when the server is started again, they begin anew.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "conclave/layout.hpp"
#include "simulation/users/locker.hpp"

namespace conclave::simulated {

class classic : public std::enable_shared_from_this<classic> {
 public:
  // What it is: a name for people, the names of its nodes up to the number, and whom it waits for.
  struct library {
    std::string kind;  // "their_mutex", "their_reader", "their_writer"
    std::string prefix;
    layout names;
    bool shared = false;                     // with other readers
    std::function<bool(layout::role)> sees;  // of those before it
  };
  using later = std::function<void(instant, std::function<void()>)>;
  using random = std::function<instant(instant most)>;

  classic(world& w, std::shared_ptr<judge> j, std::string path, library what, later call,
          random within)
      : world_{w},
        judge_{std::move(j)},
        path_{std::move(path)},
        what_{std::move(what)},
        later_{std::move(call)},
        within_{std::move(within)} {}

  void begin();
  // It leaves, and leaves nothing behind.
  void end();
  // Its node was deleted by hand.
  void robbed(const std::string& node);

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
  std::unique_ptr<hand> hand_;
  int generation_ = 0;
  std::string node_;
  bool holds_ = false;
  bool over_ = false;
  bool dirty_ = false;  // perhaps there is a node of it that it does not know
  int grants_ = 0;
};

}  // namespace conclave::simulated
