// The program of the README does what the README says.
#include <fstream>
#include <iterator>

#include "integration/harness.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

std::string output_of(const std::string& address, int expected_code) {
  const temporary_directory folder;
  child_options options{{QUICKSTART, address}};
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
  const auto output = output_of(shared_server().connect_string(), 0);
  EXPECT_NE(output.find("created /greeting-0000000000"), std::string::npos) << output;
  EXPECT_NE(output.find("told that /greeting-0000000000 changed"), std::string::npos) << output;
  EXPECT_NE(output.find("it says: good evening"), std::string::npos) << output;
}

TEST(examples, quickstart_says_what_is_wrong_with_its_argument) {
  const auto output = output_of("nonsense:port", 1);
  EXPECT_NE(output.find("'port' is not a port"), std::string::npos) << output;
}

}  // namespace
}  // namespace conclave::testing
