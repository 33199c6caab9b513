// Sources of secrets, and where secrets must not appear.

#include "conclave/secret.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "conclave/error.hpp"

namespace conclave {
namespace {

template <class T>
concept printable = requires(std::ostream& out, const T& v) {
  out << v;
};

static_assert(printable<int> && !printable<secret> && !printable<credentials>);
static_assert(!std::is_convertible_v<secret, std::string> &&
              !std::is_convertible_v<secret, std::string_view>);
static_assert(!std::is_convertible_v<std::string, secret> &&
              !std::is_convertible_v<const char*, secret>);

class file {
 public:
  explicit file(std::string_view content) {
    const int fd = ::mkstemp(name_.data());
    EXPECT_GE(fd, 0);
    ::close(fd);
    std::ofstream{name_, std::ios::binary} << content;
  }
  ~file() { ::unlink(name_.c_str()); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_ = ::testing::TempDir() + "conclave-secret-XXXXXX";
};

void expect_bad_secret(const std::string& named, auto make) {
  try {
    make();
    ADD_FAILURE() << named << " was taken for a secret";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), error_code{errc::bad_secret});
    EXPECT_NE(std::string{e.what()}.find(named), std::string::npos) << e.what();
  }
}

TEST(secret, from_memory) {
  EXPECT_EQ(secret::from_memory("user:password").reveal(), "user:password");
  EXPECT_TRUE(secret{}.empty());
  EXPECT_FALSE(secret::from_memory("x").empty());
}

TEST(secret, from_a_file_without_its_final_newline) {
  EXPECT_EQ(secret::from_file(file{"user:password"}.name()).reveal(), "user:password");
  EXPECT_EQ(secret::from_file(file{"user:password\n"}.name()).reveal(), "user:password");
  EXPECT_EQ(secret::from_file(file{"user:password\r\n"}.name()).reveal(), "user:password");
  EXPECT_EQ(secret::from_file(file{" two\nlines \n"}.name()).reveal(), " two\nlines ");
  const std::string large(100'000, 'x');
  EXPECT_EQ(secret::from_file(file{large}.name()).reveal(), large);
}

TEST(secret, refuses_a_path_that_is_not_a_file) {
  expect_bad_secret("/no/such/file", [] { secret::from_file("/no/such/file"); });
  const file empty{""};
  expect_bad_secret(empty.name(), [&] { secret::from_file(empty.name()); });
  const file line_end{"\n"};
  expect_bad_secret(line_end.name(), [&] { secret::from_file(line_end.name()); });
  expect_bad_secret(::testing::TempDir(), [] { secret::from_file(::testing::TempDir()); });
}

TEST(secret, from_the_environment) {
  ::setenv("CONCLAVE_TEST_SECRET", "from outside", 1);
  EXPECT_EQ(secret::from_environment("CONCLAVE_TEST_SECRET").reveal(), "from outside");
  ::unsetenv("CONCLAVE_TEST_SECRET");
  expect_bad_secret("CONCLAVE_TEST_SECRET",
                    [] { secret::from_environment("CONCLAVE_TEST_SECRET"); });
}

TEST(secret, copies_and_moves) {
  for (const std::string value : {"short", "longer than what fits into a string object itself"}) {
    auto first = secret::from_memory(value);
    secret copy{first};
    EXPECT_EQ(copy.reveal(), value);
    EXPECT_EQ(first.reveal(), value);
    secret moved{std::move(first)};
    EXPECT_EQ(moved.reveal(), value);
    EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): checks that it was wiped
    secret assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.reveal(), value);
    assigned = secret{};
    EXPECT_TRUE(assigned.empty());
  }
}

TEST(secret, moving_wipes_the_source) {
  auto first = secret::from_memory("hunter2");  // short: stored inside the object
  const auto* bytes = first.reveal().data();
  const secret second{std::move(first)};
  EXPECT_EQ(bytes[0], '\0');
  EXPECT_NE((std::string_view{bytes, 7}), "hunter2");
  EXPECT_EQ(second.reveal(), "hunter2");
}

}  // namespace
}  // namespace conclave
