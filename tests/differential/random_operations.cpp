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
  // A sequential name need not be unused.
  switch (type) {
    case opcode::create_container: o.flags = random_.one_of({4, 4, 4, 4, 0, 2, 1, 5}); break;
    case opcode::create_ttl:
      o.flags = random_.one_of({5, 5, 5, 6, 6, 6, 0, 4});
      o.ttl_ms = random_.one_of<std::int64_t>(
          {1, 3'600'000, 3'600'000, 3'600'000, longest_ttl_ms, longest_ttl_ms + 1, 0, -1});
      break;
    default:
      switch (random_.weighted_index({40, 20, 12, 18, 3, 5})) {
        case 0: o.flags = 0; break;
        case 1: o.flags = 1; break;
        case 2: o.flags = 2; break;
        case 3: o.flags = 3; break;
        case 4: o.flags = 4; break;
        default: o.flags = random_.one_of({5, 6, 7, -1, 99}); break;
      }
  }
  const auto last = random_.one_of({"/q-"s, "/"s, "/n"s});
  if (is_sequential(o) && random_.chance(80))
    o.path = random_.chance(30)   ? random_fields::named(last)
             : random_.chance(50) ? random_fields::named(fields_.usual_path() + last)
                                  : fields_.behind(path_ref::kind::known, last);
  else if (random_.chance(50))
    o.path = random_fields::named(fields_.usual_path());
  o.acl = fields_.acl(o.path);
  return o;
}

opcode random_operations::kind_of_creation() {
  return random_.one_of({opcode::create, opcode::create, opcode::create, opcode::create2,
                         opcode::create2, opcode::create_container, opcode::create_ttl});
}

operation random_operations::part_of_multi() {
  switch (random_.weighted_index({45, 20, 20, 12, 2, 1})) {
    case 0: return creation(kind_of_creation());
    case 1: return of(opcode::remove);
    case 2: return of(opcode::set_data);
    case 3: return of(opcode::check);
    case 4: return of(random_.one_of({opcode::get_data, opcode::get_children}));
    default: return of(random_.one_of({opcode::get_acl, opcode::sync, opcode::delete_container}));
  }
}

operation random_operations::multi() {
  operation o;
  o.type = opcode::multi;
  for (std::size_t n = random_.weighted_index({3, 22, 35, 25, 10, 5}); n > 0; --n)
    o.parts.push_back(part_of_multi());
  // With random paths only, a long transaction would always fail.
  if (random_.chance(40)) {
    for (auto& part : o.parts) {
      part.version = {version_ref::kind::number, -1};
      if (!is_creation(part.type)) continue;
      part.type = opcode::create;
      part.flags = random_.one_of({2, 3});
      part.acl = {{}};
      part.path = random_fields::named(random_.one_of({"/m-"s, "/a/m-"s, "/b/m-"s}));
    }
  }
  if (random_.chance(25) && !o.parts.empty()) {  // the same node twice
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
  for (std::size_t n = random_.below(5); n > 0; --n) {
    o.parts.push_back(random_.chance(97)
                          ? of(random_.one_of({opcode::get_data, opcode::get_children}))
                          : part_of_multi());
    o.parts.back().watch = random_.chance(20);
  }
  return o;
}

operation random_operations::read() {
  auto o = of(random_.one_of({opcode::exists, opcode::exists, opcode::get_data, opcode::get_data,
                              opcode::get_children, opcode::get_children2}));
  if (random_.chance(50)) o.path = random_fields::named(fields_.usual_path());
  o.watch = random_.chance(85);
  return o;
}

operation random_operations::set_watches() {
  operation o;
  o.type = random_.one_of({opcode::set_watches, opcode::set_watches2});
  switch (random_.weighted_index({10, 45, 40, 5})) {
    case 0: o.since = {zxid_ref::kind::number, 0}; break;
    case 1: o.since = {zxid_ref::kind::seen_before, 0}; break;
    case 2:
      o.since = {zxid_ref::kind::change, static_cast<std::int64_t>(random_.below(1'000'000))};
      break;
    default:
      o.since = {zxid_ref::kind::number, random_.one_of<std::int64_t>({-1, latest_zxid})};
      break;
  }
  for (auto& list : o.lists)
    for (std::size_t n = random_.below(6); n > 0; --n)
      list.push_back(random_.chance(60) ? random_fields::named(fields_.usual_path())
                                        : fields_.path());
  return o;
}

operation random_operations::authentication() {
  operation o;
  o.type = opcode::auth;
  o.scheme = "digest";
  switch (random_.weighted_index({10, 8, 3, 3, 3, 1, 1, 1})) {
    case 0: o.data = "u1:p1"; break;
    case 1: o.data = "u2:p2"; break;
    case 2: o.data = "super:boss"; break;
    case 3: o.data = random_.one_of({"u1:wrong"s, ""s, ":"s, "u1"s, "u1:"s, "u1:p1:p2"s}); break;
    case 4:
      o.scheme = "ip";
      o.data = random_.one_of({"127.0.0.1"s, "10.1.1.1"s, ""s});
      break;
    case 5:
      o.scheme = random_.one_of({"unknown"s, ""s, "world"s, "auth"s, "super"s, "sasl"s});
      break;
    case 6: o.data = std::nullopt; break;
    default: o.scheme = std::nullopt; break;
  }
  return o;
}

operation random_operations::about_watches(opcode type) {
  auto o = of(type);
  if (random_.chance(75)) o.path = random_fields::named(fields_.usual_path());
  if (type == opcode::check_watches)
    o.path = random_fields::named(random_.one_of({"/p0"s, "/a/p0"s, "/b/p0"s}));
  if (type == opcode::add_watch)
    o.number = random_.chance(95) ? static_cast<std::int32_t>(random_.below(2))
                                  : random_.one_of({-1, 2, 7});
  else
    o.number = random_.chance(93) ? 1 + static_cast<std::int32_t>(random_.below(3))
                                  : random_.one_of({0, 4, -1});
  return o;
}

operation random_operations::set_acl() {
  auto o = of(opcode::set_acl);
  o.acl = fields_.acl(o.path);
  return o;
}

operation random_operations::any() {
  switch (random_.weighted_index({24, 15, 12, 30, 3, 4, 9, 2, 2, 5, 6, 2, 1, 1, 1, 1})) {
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
      return about_watches(random_.chance(30) ? opcode::remove_watches : opcode::check_watches);
    case 11:
      return random_.one_of({of(opcode::get_ephemerals), of(opcode::get_all_children_number)});
    case 12: return of(opcode::sync);
    case 13: return of(opcode::check);
    case 14: return of(opcode::who_am_i);
    default: return of(opcode::ping);
  }
}

operation random_operations::odd() {
  switch (random_.weighted_index({64, 15, 12, 1, 8})) {
    case 0: {  // truncated
      auto o = random_.chance(8) ? authentication() : any();
      o.truncated_to = static_cast<std::uint32_t>(random_.below(200));
      return o;
    }
    case 1: {
      auto o = any();
      o.with_rest = true;
      return o;
    }
    case 2: {
      auto o = any();
      o.xid = random_.one_of<std::int32_t>({-2, -3, -4, -5, -8, -1000, 2'147'483'647});
      return o;
    }
    case 3: {  // close to the maximum size
      auto o = of(opcode::set_data);
      o.path = random_fields::named(fields_.usual_path());
      o.data = std::string(longest_request - random_.below(100), 'x');
      return o;
    }
    default:
      return of(static_cast<opcode>(random_.one_of<std::int32_t>(
          {0, 10, 16, 20, 23, 24, 99, 108, 110, 1000, 65'536, -1, -2, -9, -12, -100})));
  }
}

}  // namespace conclave::differential
