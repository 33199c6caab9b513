#include "history_judge.hpp"

#include <cstdint>
#include <istream>
#include <sstream>
#include <stdexcept>

#include "exclusion.hpp"
#include "grant_order.hpp"
#include "queue_account.hpp"

namespace conclave::checkers {
namespace {

// The unread words of a line.
class words {
 public:
  explicit words(const std::string& line) : in_{line} {}

  std::string text() {
    std::string w;
    if (!(in_ >> w)) throw std::runtime_error{"a word is missing"};
    return w;
  }
  std::uint64_t number() { return number_of(text()); }
  bool more() { return !(in_ >> std::ws).eof(); }

  static std::uint64_t number_of(const std::string& w) {
    std::size_t read = 0;
    const auto n = w.empty() || w.front() == '-' ? 0 : std::stoull(w, &read);
    if (read == 0 || read != w.size()) throw std::runtime_error{w + " is not a number"};
    return n;
  }

 private:
  std::istringstream in_;
};

class judge {
 public:
  void line(const std::string& text) {
    words w{text};
    const auto at = w.number();
    if (at < now_) throw std::runtime_error{"the time is earlier than in the previous line"};
    now_ = at;
    const auto what = w.text();
    if (what == "granted")
      granted(w);
    else if (what == "ended")
      exclusion_.ended(w.number());
    else if (what == "pushed")
      pushed(w);
    else if (what == "delivered")
      account_.delivered(w.text());
    else if (what == "delivery-unknown")
      account_.delivery_unknown(w.text());
    else
      throw std::runtime_error{"unknown event " + what};
    if (w.more()) throw std::runtime_error{"unexpected extra word"};
  }

  std::vector<std::string> close() {
    account_.close();
    return std::move(violations_);
  }

 private:
  void granted(words& w) {
    const auto which = w.number();
    hold h{w.text()};
    const auto token = static_cast<std::int64_t>(w.number());
    const auto resource = w.text();
    while (w.more()) {
      const auto how = w.text();
      const std::string permits = "permits=";
      if (how == "shared")
        h.shared = true;
      else if (how.compare(0, permits.size(), permits) == 0)
        h.permits = words::number_of(how.substr(permits.size()));
      else
        throw std::runtime_error{"unknown property of a hold: " + how};
    }
    // Permits are granted in order, too, but the first event of a holder may be recorded after the
    // first event of the next one.
    if (h.permits == 1) order_.granted(resource, token, h.who, h.shared);
    exclusion_.granted(resource, which, h);
  }

  void pushed(words& w) {
    using fate = queue_account::fate;
    const auto item = w.text();
    const auto how = w.text();
    if (how != "done" && how != "refused" && how != "unknown")
      throw std::runtime_error{"unknown result of a push: " + how};
    account_.pushed(item, how == "done"      ? fate::done
                          : how == "refused" ? fate::refused
                                             : fate::unknown);
  }

  violation_callback callback() {
    return [this](const std::string& what) {
      violations_.push_back(std::to_string(now_) + ": " + what);
    };
  }

  std::uint64_t now_ = 0;
  std::vector<std::string> violations_;
  exclusion exclusion_{callback()};
  grant_order order_{callback()};
  queue_account account_{callback()};
};

}  // namespace

std::vector<std::string> judge_history(std::istream& history) {
  judge j;
  std::string line;
  for (std::uint64_t number = 1; std::getline(history, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    try {
      j.line(line);
    } catch (const std::exception& e) {
      throw std::runtime_error{"line " + std::to_string(number) + ": " + e.what() + ": " + line};
    }
  }
  return j.close();
}

}  // namespace conclave::checkers
