#include "differential/generator.hpp"

#include <deque>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "differential/avoidance.hpp"

namespace conclave::differential {
namespace {

using wire::opcode;
using namespace std::string_literals;

// These take time: rarely.
constexpr std::size_t steps_per_expiry = 1250;
constexpr std::size_t steps_per_restart = 3000;
constexpr std::size_t longest_request = 0xfffff;
constexpr auto latest_zxid = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t longest_ttl_ms = 0x00ff'ffff'ffff;

// Digests of "u1:p1" and "u2:p2".
const std::string first_user = "u1:fpT/y03U+EjItKZOSLGvjnJlyng=";
const std::string second_user = "u2:o9NxcCGDPOlcV7JVhmKHOf5ctVE=";

class generator {
 public:
  explicit generator(const plan& p) : plan_{p}, random_{p.seed} {}

  std::vector<step> run() {
    std::vector<step> steps;
    for (std::size_t i = 0; i < plan_.steps; ++i) {
      if (plan_.with_restarts && i % steps_per_restart == steps_per_restart / 2)
        steps.push_back(of(action::restart));
      else if (i % steps_per_expiry == steps_per_expiry / 2)
        steps.push_back(expiry());
      else
        steps.push_back(returns_.empty() || chance(80) ? any_step() : return_of_one());
    }
    return steps;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }

  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + below(choices.size()));
  }

  // Index of a weight, as often as it is great.
  std::size_t weighed(std::initializer_list<std::size_t> weights) {
    std::size_t all = 0;
    for (const auto w : weights) all += w;
    auto left = below(all);
    std::size_t i = 0;
    for (const auto w : weights) {
      if (left < w) break;
      left -= w;
      ++i;
    }
    return i;
  }

  // --- paths

  std::string usual_path() {
    const std::size_t depth = 1 + weighed({5, 4, 1});
    std::string path;
    for (std::size_t i = 0; i < depth; ++i) path += "/" + one_of({"a"s, "b"s, "s"s});
    if (chance(15)) return one_of({""s, "/a"s, "/b"s}) + "/p" + std::to_string(below(plan_.slots));
    return path;
  }

  static path_ref named(text name) {
    path_ref p;
    p.name = std::move(name);
    return p;
  }

  text odd_path() {
    switch (below(26)) {
      case 0: return std::nullopt;
      case 1: return "";
      case 2: return "a";
      case 3: return "a/b";
      case 4: return usual_path() + "/";
      case 5: return "/" + usual_path();
      case 6: return usual_path() + "/" + usual_path();
      case 7: return "/.";
      case 8: return "/..";
      case 9: return usual_path() + "/./a";
      case 10: return usual_path() + "/../a";
      case 11: return usual_path() + "/...";
      case 12: return usual_path() + "/.a";
      case 13: return usual_path() + "/a..";
      case 14: return "/\x01";
      case 15: return usual_path() + "\x1f";
      case 16: return usual_path() + "\x7f";
      case 17: return usual_path() + "/\xc2\x85";          // U+0085
      case 18: return usual_path() + "/\xef\xbf\xbd";      // U+FFFD
      case 19: return usual_path() + "/\xee\x80\x80";      // U+E000
      case 20: return usual_path() + "/\xf0\x9f\x98\x80";  // U+1F600
      case 21: return usual_path() + "/a\0b"s;
      case 22: return usual_path() + "/\xff";
      case 23: return usual_path() + "/\xc3\xa9\xe2\x82\xac";  // fine: é€
      case 24: return usual_path() + "/ " + std::string(below(2000), 'x');
      default: return usual_path() + "//";
    }
  }

  path_ref behind(path_ref::kind how, const std::string& name) {
    path_ref p;
    p.how = how;
    p.number = below(1'000'000);
    p.name = name;
    return p;
  }

  path_ref any_path() {
    switch (weighed({40, 35, 12, 5, 3, 5})) {
      case 0: return named(usual_path());
      case 1: return behind(path_ref::kind::known, "");
      case 2: return behind(path_ref::kind::made, chance(80) ? "" : "/x");
      case 3:
        return named(one_of({"/"s, "/"s, "/zookeeper"s, "/zookeeper/quota"s, "/zookeeper/config"s,
                             "/zookeeper/a"s, "/zookeeper/quota/a"s}));
      case 4: return named("/missing" + usual_path());
      default: return named(odd_path());
    }
  }

  // --- fields

  text any_data() {
    switch (weighed({8, 8, 76, 8})) {
      case 0: return std::nullopt;
      case 1: return "";
      case 2: return random_bytes(1 + below(30));
      default: return random_bytes(below(20'000));
    }
  }

  std::string random_bytes(std::size_t size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(below(256)));
    return bytes;
  }

  std::int32_t some_permissions() {
    if (chance(60)) return one_of({31, 1, 0});  // the same for several entries
    return chance(95) ? static_cast<std::int32_t>(below(32)) : one_of({-1, 32, 1 << 30});
  }

  acl_entry any_entry() {
    const auto some = some_permissions();
    switch (below(20)) {
      case 0:
      case 1: return {some, "auth", ""};
      case 2: return {some, "auth", "anything"};
      case 3:
      case 4: return {some, "digest", first_user};
      case 5:
      case 6: return {some, "digest", second_user};
      case 7: return {some, "ip", "127.0.0.1"};
      case 8:
        return {
            some, "ip",
            one_of({"127.0.0.0/8"s, "10.0.0.0/8"s, "0.0.0.0/0"s, "126.0.0.0/7"s, "127.0.0.1/32"s})};
      default: return {some | 1, "world", "anyone"};
    }
  }

  acl_entry invalid_entry() {
    const auto some = some_permissions();
    switch (below(22)) {
      case 0: return {some, "world", "everyone"};
      case 1: return {some, "world", ""};
      case 2: return {some, "digest", "nobody"};
      case 3: return {some, "digest", "a:b:c"};
      case 4: return {some, "digest", "a:"};
      case 5: return {some, "digest", ":b"};
      case 6: return {some, "digest", ""};
      case 7: return {some, "ip", "localhost"};
      case 8: return {some, "ip", "1.2.3"};
      case 9: return {some, "ip", "1.2.3.4/33"};
      case 10: return {some, "ip", "1.2.3.4/"};
      case 11: return {some, "ip", "1.2.3.256"};
      case 12: return {some, "ip", ""};
      case 13: return {some, "super", ""};
      case 14: return {some, "sasl", "a"};
      case 15: return {some, "x509", "a"};
      case 16: return {some, "", ""};
      case 17: return {some, "unknown", "a"};
      case 18: return {some, std::nullopt, "a"};
      case 19: return {some, one_of({"world"s, "digest"s, "ip"s, "auth"s}), std::nullopt};
      case 20: return {some, "digest", "a:b:"};
      default: return {some, "ip", "1.2.3.4/-1"};
    }
  }

  // A node that is not secret stays readable for all, and its ACL can be changed by all.
  std::vector<acl_entry> any_acl(const path_ref& path) {
    std::vector<acl_entry> acl;
    if (chance(2)) return acl;
    const bool secret = may_be_secret(path.name.value_or(""));
    if (!secret && path.name != "/")
      acl.push_back({chance(70) ? 31 : 17 | some_permissions(), "world", "anyone"});
    else if (!secret || chance(40))
      acl.push_back({});
    for (std::size_t more = secret ? 1 + below(3) : below(5) / 4; more > 0; --more)
      acl.push_back(any_entry());
    if (acl.empty()) acl.push_back({});
    if (chance(5)) acl.push_back(acl.front());
    if (chance(4)) acl.push_back(invalid_entry());
    return acl;
  }

  version_ref any_version() {
    switch (weighed({45, 35, 10, 10})) {
      case 0: return {version_ref::kind::number, -1};
      case 1: return {version_ref::kind::right, 0};
      case 2: return {version_ref::kind::wrong, 0};
      default:
        return {version_ref::kind::number,
                one_of<std::int32_t>({0, 1, 2, -2, 2'147'483'647, -2'147'483'647 - 1})};
    }
  }

  // --- operations

  operation of(opcode type) {
    operation o;
    o.type = type;
    o.path = any_path();
    o.data = any_data();
    o.version = any_version();
    return o;
  }

  operation creation(opcode type) {
    auto o = of(type);
    // Sequential names need not be free: they end in anything.
    switch (type) {
      case opcode::create_container: o.flags = one_of({4, 4, 4, 4, 0, 2, 1, 5}); break;
      case opcode::create_ttl:
        o.flags = one_of({5, 5, 5, 6, 6, 6, 0, 4});
        o.ttl_ms = one_of<std::int64_t>(
            {1, 3'600'000, 3'600'000, 3'600'000, longest_ttl_ms, longest_ttl_ms + 1, 0, -1});
        break;
      default:
        switch (weighed({40, 20, 12, 18, 3, 5})) {
          case 0: o.flags = 0; break;
          case 1: o.flags = 1; break;
          case 2: o.flags = 2; break;
          case 3: o.flags = 3; break;
          case 4: o.flags = 4; break;
          default: o.flags = one_of({5, 6, 7, -1, 99}); break;
        }
    }
    const auto last = one_of({"/q-"s, "/"s, "/n"s});
    if (is_sequential(o) && chance(80))
      o.path = chance(30)   ? named(last)
               : chance(50) ? named(usual_path() + last)
                            : behind(path_ref::kind::known, last);
    else if (chance(50))
      o.path = named(usual_path());
    o.acl = any_acl(o.path);
    return o;
  }

  opcode kind_of_creation() {
    return one_of({opcode::create, opcode::create, opcode::create, opcode::create2, opcode::create2,
                   opcode::create_container, opcode::create_ttl});
  }

  operation part_of_multi() {
    switch (weighed({45, 20, 20, 12, 2, 1})) {
      case 0: return creation(kind_of_creation());
      case 1: return of(opcode::remove);
      case 2: return of(opcode::set_data);
      case 3: return of(opcode::check);
      case 4: return of(one_of({opcode::get_data, opcode::get_children}));
      default: return of(one_of({opcode::get_acl, opcode::sync, opcode::delete_container}));
    }
  }

  operation multi() {
    operation o;
    o.type = opcode::multi;
    for (std::size_t n = weighed({3, 22, 35, 25, 10, 5}); n > 0; --n)
      o.parts.push_back(part_of_multi());
    // Longer ones would always fail if all their paths were random.
    if (chance(40)) {
      for (auto& part : o.parts) {
        part.version = {version_ref::kind::number, -1};
        if (!is_creation(part.type)) continue;
        part.type = opcode::create;
        part.flags = one_of({2, 3});
        part.acl = {{}};
        part.path = named(one_of({"/m-"s, "/a/m-"s, "/b/m-"s}));
      }
    }
    if (chance(25) && !o.parts.empty()) {  // the same node twice
      auto again = part_of_multi();
      again.path = o.parts.front().path;
      if (is_creation(again.type)) again.acl = any_acl(again.path);
      o.parts.push_back(again);
    }
    return o;
  }

  operation multi_read() {
    operation o;
    o.type = opcode::multi_read;
    for (std::size_t n = below(5); n > 0; --n) {
      o.parts.push_back(chance(97) ? of(one_of({opcode::get_data, opcode::get_children}))
                                   : part_of_multi());
      o.parts.back().watch = chance(20);
    }
    return o;
  }

  operation read() {
    auto o = of(one_of({opcode::exists, opcode::exists, opcode::get_data, opcode::get_data,
                        opcode::get_children, opcode::get_children2}));
    if (chance(50)) o.path = named(usual_path());
    o.watch = chance(85);
    return o;
  }

  operation set_watches() {
    operation o;
    o.type = one_of({opcode::set_watches, opcode::set_watches2});
    switch (weighed({10, 45, 40, 5})) {
      case 0: o.since = {zxid_ref::kind::number, 0}; break;
      case 1: o.since = {zxid_ref::kind::seen_before, 0}; break;
      case 2:
        o.since = {zxid_ref::kind::change, static_cast<std::int64_t>(below(1'000'000))};
        break;
      default: o.since = {zxid_ref::kind::number, one_of<std::int64_t>({-1, latest_zxid})}; break;
    }
    for (auto& list : o.lists)
      for (std::size_t n = below(6); n > 0; --n)
        list.push_back(chance(60) ? named(usual_path()) : any_path());
    return o;
  }

  operation authentication() {
    operation o;
    o.type = opcode::auth;
    o.scheme = "digest";
    switch (weighed({10, 8, 3, 3, 3, 1, 1, 1})) {
      case 0: o.data = "u1:p1"; break;
      case 1: o.data = "u2:p2"; break;
      case 2: o.data = "super:boss"; break;
      case 3: o.data = one_of({"u1:wrong"s, ""s, ":"s, "u1"s, "u1:"s, "u1:p1:p2"s}); break;
      case 4:
        o.scheme = "ip";
        o.data = one_of({"127.0.0.1"s, "10.1.1.1"s, ""s});
        break;
      case 5: o.scheme = one_of({"unknown"s, ""s, "world"s, "auth"s, "super"s, "sasl"s}); break;
      case 6: o.data = std::nullopt; break;
      default: o.scheme = std::nullopt; break;
    }
    return o;
  }

  operation about_watches(opcode type) {
    auto o = of(type);
    if (chance(75)) o.path = named(usual_path());
    if (type == opcode::check_watches) o.path = named(one_of({"/p0"s, "/a/p0"s, "/b/p0"s}));
    if (type == opcode::add_watch)
      o.number = chance(95) ? static_cast<std::int32_t>(below(2)) : one_of({-1, 2, 7});
    else
      o.number = chance(93) ? 1 + static_cast<std::int32_t>(below(3)) : one_of({0, 4, -1});
    return o;
  }

  operation set_acl() {
    auto o = of(opcode::set_acl);
    o.acl = any_acl(o.path);
    return o;
  }

  // One that can stand between others in one go.
  operation any_operation() {
    switch (weighed({24, 15, 12, 30, 3, 4, 9, 2, 2, 5, 6, 2, 1, 1, 1, 1})) {
      case 0: return creation(kind_of_creation());
      case 1: return of(opcode::remove);
      case 2: return of(opcode::set_data);
      case 3: return read();
      case 4: return of(opcode::get_acl);
      case 5: return set_acl();
      case 6: return multi();
      case 7: return multi_read();
      case 8: return set_watches();
      case 9: return about_watches(opcode::add_watch);
      case 10: return about_watches(chance(30) ? opcode::remove_watches : opcode::check_watches);
      case 11: return one_of({of(opcode::get_ephemerals), of(opcode::get_all_children_number)});
      case 12: return of(opcode::sync);
      case 13: return of(opcode::check);
      case 14: return of(opcode::who_am_i);
      default: return of(opcode::ping);
    }
  }

  operation odd_operation() {
    switch (weighed({64, 15, 12, 1, 8})) {
      case 0: {  // cut off
        auto o = chance(8) ? authentication() : any_operation();
        o.cut = static_cast<std::uint32_t>(below(200));
        return o;
      }
      case 1: {
        auto o = any_operation();
        o.with_rest = true;
        return o;
      }
      case 2: {
        auto o = any_operation();
        o.xid = one_of<std::int32_t>({-2, -3, -4, -5, -8, -1000, 2'147'483'647});
        return o;
      }
      case 3: {  // as long as a request may be, or nearly
        auto o = of(opcode::set_data);
        o.path = named(usual_path());
        o.data = std::string(longest_request - below(100), 'x');
        return o;
      }
      default:
        return of(static_cast<opcode>(one_of<std::int32_t>(
            {0, 10, 16, 20, 23, 24, 99, 108, 110, 1000, 65'536, -1, -2, -9, -12, -100})));
    }
  }

  // --- steps

  step of(action what) {
    step s;
    s.what = what;
    s.slot = below(plan_.slots);
    s.number = one_of({30'000, 45'000, 60'000, 1'000'000});
    s.old_client = chance(20);
    return s;
  }

  step any_step() {
    // Watches go with their connections: those must last for a while.
    switch (weighed({880, 40, 35, 4, 12, 8, 2, 3, 2, 3, 1})) {
      case 0: return sending({any_operation()});
      case 1: return burst();
      case 2: return sending({odd_operation()});
      case 3: {
        operation o;
        o.type = opcode::close_session;
        return sending({o});
      }
      case 4: return sending({authentication()});
      case 5: return hang_up_for_a_while();
      case 6: return of(action::come_back);
      case 7: return of(action::use_wrong_word);
      case 8: return of(action::know_the_future);
      case 9: return of(action::take_over);
      default: {
        auto s = of(action::bad_length);
        s.number =
            one_of<std::int32_t>({0, 1, 4, 7, -1, -2, 0x100000, 2'147'483'647, -2'147'483'647 - 1});
        return s;
      }
    }
  }

  step sending(std::vector<operation> operations) {
    auto s = of(action::send);
    s.operations = std::move(operations);
    return s;
  }

  step burst() {
    std::vector<operation> operations;
    for (std::size_t n = 2 + below(6); n > 0; --n)
      if (operations.empty() || may_be_followed(operations.back()))
        operations.push_back(any_operation());
    return sending(std::move(operations));
  }

  step expiry() {
    auto s = of(action::expire);
    s.number = 1;  // as short as the server allows
    for (std::size_t n = below(4); n > 0; --n) {
      auto o = creation(opcode::create);
      o.flags = one_of({1, 3});
      s.operations.push_back(o);
    }
    return s;
  }

  // A client that lost its connection and finds out what it has missed.
  step return_of_one() {
    auto s = returns_.front();
    returns_.pop_front();
    return s;
  }

  step hang_up_for_a_while() {
    auto leaves = of(action::hang_up);
    auto comes_back = of(action::come_back);
    auto asks = sending({set_watches()});
    asks.operations.front().since = {zxid_ref::kind::seen_before, 0};
    comes_back.slot = asks.slot = leaves.slot;
    returns_.push_back(comes_back);
    returns_.push_back(asks);
    return leaves;
  }

  plan plan_;
  std::mt19937_64 random_;
  std::deque<step> returns_;
};

}  // namespace

std::vector<step> steps_of(const plan& p) { return generator{p}.run(); }

}  // namespace conclave::differential
