// The examples print the expected output.
#include <fstream>
#include <iterator>
#include <vector>

#include "integration/harness.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

std::string output_of(const std::string& example, const std::string& address,
                      int expected_code = 0) {
  const temporary_directory folder;
  child_options options{{std::string{EXAMPLES "/"} + example, address}};
  options.output = folder.path() / "output";
  child_process process{options};
  const auto status = process.wait(60s);
  EXPECT_TRUE(status);
  if (status) {
    EXPECT_EQ(status->code, expected_code);
  }
  std::ifstream in{options.output};
  return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(examples, quickstart_creates_and_watches) {
  const auto output = output_of("quickstart", shared_server().connect_string());
  EXPECT_NE(output.find("created /greeting-0000000000"), std::string::npos) << output;
  EXPECT_NE(output.find("watch event: /greeting-0000000000 changed"), std::string::npos) << output;
  EXPECT_NE(output.find("its data: good evening"), std::string::npos) << output;
}

// The chroot does not exist, so the requests fail.
TEST(examples, fail_with_a_message_and_an_exit_code) {
  for (const std::string example :
       {"quickstart", "lock", "timed_lock", "read_write", "reentrant", "fenced_write", "election",
        "queue", "work_queue", "awaitable", "metrics"}) {
    const auto output = output_of(example, shared_server().connect_string() + "/missing", 1);
    EXPECT_NE(output.find(example + ": "), std::string::npos) << output;
  }
}

TEST(examples, quickstart_reports_an_invalid_argument) {
  const auto output = output_of("quickstart", "nonsense:port", 1);
  EXPECT_NE(output.find("'port' is not a port"), std::string::npos) << output;
}

void expect_lines(const std::string& example, const std::vector<std::string>& lines) {
  const auto output = output_of(example, shared_server().connect_string());
  std::size_t from = 0;
  for (const auto& line : lines) {
    const auto at = output.find(line, from);
    ASSERT_NE(at, std::string::npos) << "'" << line << "' is not in its place in:\n" << output;
    from = at + line.size();
  }
}

TEST(examples, lock) { expect_lines("lock", {"acquired with fencing token ", "step 3"}); }
TEST(examples, timed_lock) {
  expect_lines("timed_lock", {"not acquired within 100 ms: ", " holds it\n", "acquired\n"});
}
TEST(examples, read_write) {
  expect_lines("read_write", {"two readers hold the lock", "can a reader acquire it: false",
                              "both hold it as readers"});
}
TEST(examples, reentrant) {
  expect_lines("reentrant", {"held 2 times", "held 2 times", "held by this thread: false"});
}
TEST(examples, metrics) {
  expect_lines("metrics", {"begin of a call: /examples/metrics\n", "end of the call: acquired\n",
                           "begin of the hold with token ", "end of the hold: released\n",
                           "acquired 1, lost 0\n", "conclave_sessions_total 1\n",
                           "conclave_lock_calls_total{kind=\"lock\",outcome=\"acquired\"} 1\n"});
}
TEST(examples, fenced_write) { expect_lines("fenced_write", {"accepted: false", "refused: "}); }
TEST(examples, election) {
  // The output of the observer is not checked, because it may skip quick changes.
  expect_lines("election", {" works, step 3, token ", " has resigned", " works, step 3, token ",
                            " has resigned", " works, step 3, token ", " has resigned"});
}
TEST(examples, queue) {
  expect_lines("queue", {"popped one\n", "popped two\n", "popped three\n", "items left: 0\n"});
}
TEST(examples, work_queue) {
  expect_lines("work_queue", {"resize 1.png, attempt 1: done\n", "broken.png, attempt 2: failed\n",
                              "resize 2.png, attempt 1: done\n", "set aside: resize broken.png\n"});
}
// All contenders start before the lock's path exists. The one that creates it need not be first.
TEST(examples, awaitable) {
  const auto output = output_of("awaitable", shared_server().connect_string());
  for (const auto* name : {"one", "two", "three"})
    for (const auto* what : {" holds it\n", " holds it again\n"})
      EXPECT_NE(output.find(std::string{name} + what), std::string::npos) << output;
}

}  // namespace
}  // namespace conclave::testing
