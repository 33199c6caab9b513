// Memory that a burst needed is returned, and nothing else changes.

#include "server/core/shrink.hpp"

#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

TEST(shrink, frees_an_almost_empty_container) {
  std::vector<int> list(10'000);
  std::string text(10'000, 'x');
  std::unordered_map<int, int> table;
  for (int i = 0; i < 10'000; ++i) table[i] = i;
  list.resize(10);
  text.resize(10);
  std::erase_if(table, [](const auto& entry) { return entry.first >= 10; });
  const auto* const kept = &table.at(7);

  shrink(list);
  shrink(text);
  shrink(table);
  EXPECT_LT(list.capacity(), 100u);
  EXPECT_LT(text.capacity(), 100u);
  EXPECT_LT(table.bucket_count(), 100u);
  EXPECT_EQ(list.size(), 10u);
  EXPECT_EQ(text, std::string(10, 'x'));
  EXPECT_EQ(kept, &table.at(7));
}

TEST(shrink, keeps_a_container_that_is_in_use) {
  std::vector<int> list(10'000);
  list.resize(5000);
  shrink(list);
  EXPECT_EQ(list.capacity(), 10'000u);
}

TEST(shrink, a_core_works_as_before) {
  test_server server;
  auto& c = server.open_session(10s);
  auto& other = server.open_session(10s);
  constexpr int count = 3000;
  const auto path = [](int i) { return "/n" + std::to_string(i); };
  server.turn([&] {
    for (int i = 0; i < count; ++i) c.send(create(path(i)));
  });
  server.turn([&] {
    for (int i = 0; i < count; ++i) other.send(exists(path(i), true));
  });
  server.turn([&] {
    for (int i = 0; i < count; ++i)
      if (i != 7) c.send(remove(path(i)));
  });
  EXPECT_EQ(other.take_events().size(), count - 1u);
  server.core().shrink();

  EXPECT_EQ(c.unread_replies(), 2 * count - 1u);
  while (c.unread_replies() > 0) EXPECT_EQ(c.next_reply(), ok);
  EXPECT_EQ(c.ask(create("/new")), ok);
  EXPECT_EQ(c.ask(children("/")).names, (lines{"n7", "new", "zookeeper"}));
  EXPECT_EQ(c.ask(remove(path(7))), ok);
  EXPECT_EQ(other.take_events(), lines{"removed /n7"});
  server.pass(9999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
  server.pass(1ms);
  EXPECT_FALSE(server.is_alive(c.session()));
}

}  // namespace
}  // namespace conclave::server_impl
