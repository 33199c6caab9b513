#include "fixture.hpp"

#include <atomic>
#include <sstream>

namespace conclave::testing {

std::string describe(const Stat& s) {
  std::ostringstream text;
  text << "czxid " << s.czxid << " mzxid " << s.mzxid << " pzxid " << s.pzxid << " ctime "
       << s.ctime << " mtime " << s.mtime << " version " << s.version << " cversion " << s.cversion
       << " aversion " << s.aversion << " owner " << s.ephemeralOwner << " length " << s.dataLength
       << " children " << s.numChildren;
  return text.str();
}

std::string fresh_node(zhandle_t* zk, const std::string& name) {
  static std::atomic<int> count{0};
  auto path = "/" + name + "-" + std::to_string(++count);
  EXPECT_EQ(blocking_calls(zk)->create(path, "").rc, ZOK) << path;
  return path;
}

}  // namespace conclave::testing
