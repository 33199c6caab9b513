#include "differential/random_operations.hpp"

#include <limits>
#include <string>

namespace conclave::differential {
namespace {

using wire::opcode;
using namespace std::string_literals;

constexpr std::size_t longest_request = 0xfffff;
constexpr auto latest_zxid = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t longest_ttl_ms = 0x00ff'ffff'ffff;

}  // namespace

operation random_operations::of(opcode type) {
  operation o;
  o.type = type;
  o.path = fields_.path();
  o.data = fields_.data();
  o.version = fields_.version();
  return o;
}

operation random_operations::creation(opcode type) {
  auto o = of(type);
  // Sequential names need not be free: they end in anything.
  switch (type) {
    case opcode::create_container: o.flags = dice_.one_of({4, 4, 4, 4, 0, 2, 1, 5}); break;
    case opcode::create_ttl:
      o.flags = dice_.one_of({5, 5, 5, 6, 6, 6, 0, 4});
      o.ttl_ms = dice_.one_of<std::int64_t>(
          {1, 3'600'000, 3'600'000, 3'600'000, longest_ttl_ms, longest_ttl_ms + 1, 0, -1});
      break;
    default:
      switch (dice_.weighed({40, 20, 12, 18, 3, 5})) {
        case 0: o.flags = 0; break;
        case 1: o.flags = 1; break;
        case 2: o.flags = 2; break;
        case 3: o.flags = 3; break;
        case 4: o.flags = 4; break;
        default: o.flags = dice_.one_of({5, 6, 7, -1, 99}); break;
      }
  }
  const auto last = dice_.one_of({"/q-"s, "/"s, "/n"s});
  if (is_sequential(o) && dice_.chance(80))
    o.path = dice_.chance(30)   ? random_fields::named(last)
             : dice_.chance(50) ? random_fields::named(fields_.usual_path() + last)
                                : fields_.behind(path_ref::kind::known, last);
  else if (dice_.chance(50))
    o.path = random_fields::named(fields_.usual_path());
  o.acl = fields_.acl(o.path);
  return o;
}

opcode random_operations::kind_of_creation() {
  return dice_.one_of({opcode::create, opcode::create, opcode::create, opcode::create2,
                       opcode::create2, opcode::create_container, opcode::create_ttl});
}

operation random_operations::part_of_multi() {
  switch (dice_.weighed({45, 20, 20, 12, 2, 1})) {
    case 0: return creation(kind_of_creation());
    case 1: return of(opcode::remove);
    case 2: return of(opcode::set_data);
    case 3: return of(opcode::check);
    case 4: return of(dice_.one_of({opcode::get_data, opcode::get_children}));
    default: return of(dice_.one_of({opcode::get_acl, opcode::sync, opcode::delete_container}));
  }
}

operation random_operations::multi() {
  operation o;
  o.type = opcode::multi;
  for (std::size_t n = dice_.weighed({3, 22, 35, 25, 10, 5}); n > 0; --n)
    o.parts.push_back(part_of_multi());
  // Longer ones would always fail if all their paths were random.
  if (dice_.chance(40)) {
    for (auto& part : o.parts) {
      part.version = {version_ref::kind::number, -1};
      if (!is_creation(part.type)) continue;
      part.type = opcode::create;
      part.flags = dice_.one_of({2, 3});
      part.acl = {{}};
      part.path = random_fields::named(dice_.one_of({"/m-"s, "/a/m-"s, "/b/m-"s}));
    }
  }
  if (dice_.chance(25) && !o.parts.empty()) {  // the same node twice
    auto again = part_of_multi();
    again.path = o.parts.front().path;
    if (is_creation(again.type)) again.acl = fields_.acl(again.path);
    o.parts.push_back(again);
  }
  return o;
}

operation random_operations::multi_read() {
  operation o;
  o.type = opcode::multi_read;
  for (std::size_t n = dice_.below(5); n > 0; --n) {
    o.parts.push_back(dice_.chance(97) ? of(dice_.one_of({opcode::get_data, opcode::get_children}))
                                       : part_of_multi());
    o.parts.back().watch = dice_.chance(20);
  }
  return o;
}

operation random_operations::read() {
  auto o = of(dice_.one_of({opcode::exists, opcode::exists, opcode::get_data, opcode::get_data,
                            opcode::get_children, opcode::get_children2}));
  if (dice_.chance(50)) o.path = random_fields::named(fields_.usual_path());
  o.watch = dice_.chance(85);
  return o;
}

operation random_operations::set_watches() {
  operation o;
  o.type = dice_.one_of({opcode::set_watches, opcode::set_watches2});
  switch (dice_.weighed({10, 45, 40, 5})) {
    case 0: o.since = {zxid_ref::kind::number, 0}; break;
    case 1: o.since = {zxid_ref::kind::seen_before, 0}; break;
    case 2:
      o.since = {zxid_ref::kind::change, static_cast<std::int64_t>(dice_.below(1'000'000))};
      break;
    default:
      o.since = {zxid_ref::kind::number, dice_.one_of<std::int64_t>({-1, latest_zxid})};
      break;
  }
  for (auto& list : o.lists)
    for (std::size_t n = dice_.below(6); n > 0; --n)
      list.push_back(dice_.chance(60) ? random_fields::named(fields_.usual_path())
                                      : fields_.path());
  return o;
}

operation random_operations::authentication() {
  operation o;
  o.type = opcode::auth;
  o.scheme = "digest";
  switch (dice_.weighed({10, 8, 3, 3, 3, 1, 1, 1})) {
    case 0: o.data = "u1:p1"; break;
    case 1: o.data = "u2:p2"; break;
    case 2: o.data = "super:boss"; break;
    case 3: o.data = dice_.one_of({"u1:wrong"s, ""s, ":"s, "u1"s, "u1:"s, "u1:p1:p2"s}); break;
    case 4:
      o.scheme = "ip";
      o.data = dice_.one_of({"127.0.0.1"s, "10.1.1.1"s, ""s});
      break;
    case 5: o.scheme = dice_.one_of({"unknown"s, ""s, "world"s, "auth"s, "super"s, "sasl"s}); break;
    case 6: o.data = std::nullopt; break;
    default: o.scheme = std::nullopt; break;
  }
  return o;
}

operation random_operations::about_watches(opcode type) {
  auto o = of(type);
  if (dice_.chance(75)) o.path = random_fields::named(fields_.usual_path());
  if (type == opcode::check_watches)
    o.path = random_fields::named(dice_.one_of({"/p0"s, "/a/p0"s, "/b/p0"s}));
  if (type == opcode::add_watch)
    o.number =
        dice_.chance(95) ? static_cast<std::int32_t>(dice_.below(2)) : dice_.one_of({-1, 2, 7});
  else
    o.number =
        dice_.chance(93) ? 1 + static_cast<std::int32_t>(dice_.below(3)) : dice_.one_of({0, 4, -1});
  return o;
}

operation random_operations::set_acl() {
  auto o = of(opcode::set_acl);
  o.acl = fields_.acl(o.path);
  return o;
}

operation random_operations::any() {
  switch (dice_.weighed({24, 15, 12, 30, 3, 4, 9, 2, 2, 5, 6, 2, 1, 1, 1, 1})) {
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
    case 10:
      return about_watches(dice_.chance(30) ? opcode::remove_watches : opcode::check_watches);
    case 11: return dice_.one_of({of(opcode::get_ephemerals), of(opcode::get_all_children_number)});
    case 12: return of(opcode::sync);
    case 13: return of(opcode::check);
    case 14: return of(opcode::who_am_i);
    default: return of(opcode::ping);
  }
}

operation random_operations::odd() {
  switch (dice_.weighed({64, 15, 12, 1, 8})) {
    case 0: {  // cut off
      auto o = dice_.chance(8) ? authentication() : any();
      o.cut = static_cast<std::uint32_t>(dice_.below(200));
      return o;
    }
    case 1: {
      auto o = any();
      o.with_rest = true;
      return o;
    }
    case 2: {
      auto o = any();
      o.xid = dice_.one_of<std::int32_t>({-2, -3, -4, -5, -8, -1000, 2'147'483'647});
      return o;
    }
    case 3: {  // as long as a request may be, or nearly
      auto o = of(opcode::set_data);
      o.path = random_fields::named(fields_.usual_path());
      o.data = std::string(longest_request - dice_.below(100), 'x');
      return o;
    }
    default:
      return of(static_cast<opcode>(dice_.one_of<std::int32_t>(
          {0, 10, 16, 20, 23, 24, 99, 108, 110, 1000, 65'536, -1, -2, -9, -12, -100})));
  }
}

}  // namespace conclave::differential
