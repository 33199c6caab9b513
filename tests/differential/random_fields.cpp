#include "differential/random_fields.hpp"

#include <utility>

#include "differential/avoidance.hpp"

namespace conclave::differential {
namespace {

using namespace std::string_literals;

// Digests of "u1:p1" and "u2:p2".
const std::string first_user = "u1:fpT/y03U+EjItKZOSLGvjnJlyng=";
const std::string second_user = "u2:o9NxcCGDPOlcV7JVhmKHOf5ctVE=";

}  // namespace

std::string random_fields::usual_path() {
  const std::size_t depth = 1 + random_.weighted_index({5, 4, 1});
  std::string path;
  for (std::size_t i = 0; i < depth; ++i) path += "/" + random_.one_of({"a"s, "b"s, "s"s});
  if (random_.chance(15))
    return random_.one_of({""s, "/a"s, "/b"s}) + "/p" + std::to_string(random_.below(slots_));
  return path;
}

path_ref random_fields::named(text name) {
  path_ref p;
  p.name = std::move(name);
  return p;
}

text random_fields::odd_path() {
  switch (random_.below(26)) {
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
    case 24: return usual_path() + "/ " + std::string(random_.below(2000), 'x');
    default: return usual_path() + "//";
  }
}

path_ref random_fields::behind(path_ref::kind how, const std::string& name) {
  path_ref p;
  p.how = how;
  p.number = random_.below(1'000'000);
  p.name = name;
  return p;
}

path_ref random_fields::path() {
  switch (random_.weighted_index({40, 35, 12, 5, 3, 5})) {
    case 0: return named(usual_path());
    case 1: return behind(path_ref::kind::known, "");
    case 2: return behind(path_ref::kind::made, random_.chance(80) ? "" : "/x");
    case 3:
      return named(random_.one_of({"/"s, "/"s, "/zookeeper"s, "/zookeeper/quota"s,
                                   "/zookeeper/config"s, "/zookeeper/a"s, "/zookeeper/quota/a"s}));
    case 4: return named("/missing" + usual_path());
    default: return named(odd_path());
  }
}

text random_fields::data() {
  switch (random_.weighted_index({8, 8, 76, 8})) {
    case 0: return std::nullopt;
    case 1: return "";
    case 2: return random_.bytes(1 + random_.below(30));
    default: return random_.bytes(random_.below(20'000));
  }
}

std::int32_t random_fields::some_permissions() {
  if (random_.chance(60)) return random_.one_of({31, 1, 0});  // the same for several entries
  return random_.chance(95) ? static_cast<std::int32_t>(random_.below(32))
                            : random_.one_of({-1, 32, 1 << 30});
}

acl_entry random_fields::entry() {
  const auto some = some_permissions();
  switch (random_.below(20)) {
    case 0:
    case 1: return {some, "auth", ""};
    case 2: return {some, "auth", "anything"};
    case 3:
    case 4: return {some, "digest", first_user};
    case 5:
    case 6: return {some, "digest", second_user};
    case 7: return {some, "ip", "127.0.0.1"};
    case 8:
      return {some, "ip",
              random_.one_of(
                  {"127.0.0.0/8"s, "10.0.0.0/8"s, "0.0.0.0/0"s, "126.0.0.0/7"s, "127.0.0.1/32"s})};
    default: return {some | 1, "world", "anyone"};
  }
}

acl_entry random_fields::invalid_entry() {
  const auto some = some_permissions();
  switch (random_.below(22)) {
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
    case 19: return {some, random_.one_of({"world"s, "digest"s, "ip"s, "auth"s}), std::nullopt};
    case 20: return {some, "digest", "a:b:"};
    default: return {some, "ip", "1.2.3.4/-1"};
  }
}

std::vector<acl_entry> random_fields::acl(const path_ref& path) {
  std::vector<acl_entry> acl;
  if (random_.chance(2)) return acl;
  const bool secret = may_be_secret(path.name.value_or(""));
  if (!secret && path.name != "/")
    acl.push_back({random_.chance(70) ? 31 : 17 | some_permissions(), "world", "anyone"});
  else if (!secret || random_.chance(40))
    acl.push_back({});
  for (std::size_t more = secret ? 1 + random_.below(3) : random_.below(5) / 4; more > 0; --more)
    acl.push_back(entry());
  if (acl.empty()) acl.push_back({});
  if (random_.chance(5)) acl.push_back(acl.front());
  if (random_.chance(4)) acl.push_back(invalid_entry());
  return acl;
}

version_ref random_fields::version() {
  switch (random_.weighted_index({45, 35, 10, 10})) {
    case 0: return {version_ref::kind::number, -1};
    case 1: return {version_ref::kind::right, 0};
    case 2: return {version_ref::kind::wrong, 0};
    default:
      return {version_ref::kind::number,
              random_.one_of<std::int32_t>({0, 1, 2, -2, 2'147'483'647, -2'147'483'647 - 1})};
  }
}

}  // namespace conclave::differential
