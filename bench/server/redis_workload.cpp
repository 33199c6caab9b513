#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "measured_interval.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

struct redis_deleter {
  void operator()(redisContext* c) const { ::redisFree(c); }
  void operator()(redisReply* r) const { ::freeReplyObject(r); }
};
using redis_connection = std::unique_ptr<redisContext, redis_deleter>;
using redis_answer = std::unique_ptr<redisReply, redis_deleter>;

redis_connection connect(const std::string& server) {
  constexpr std::string_view unix_mark = "unix:";
  redis_connection connection;
  if (server.starts_with(unix_mark)) {
    connection.reset(::redisConnectUnix(server.c_str() + unix_mark.size()));
  } else {
    const auto colon = server.rfind(':');
    connection.reset(
        ::redisConnect(server.substr(0, colon).c_str(), std::stoi(server.substr(colon + 1))));
  }
  if (!connection || connection->err != 0)
    throw std::runtime_error("Redis at " + server + ": " +
                             (connection ? connection->errstr : "out of memory"));
  return connection;
}

template <class... Arguments>
redis_answer ask(redisContext& redis, const char* format, Arguments... arguments) {
  redis_answer answer(static_cast<redisReply*>(::redisCommand(&redis, format, arguments...)));
  if (!answer) throw std::runtime_error(std::string("Redis: ") + redis.errstr);
  if (answer->type == REDIS_REPLY_ERROR)
    throw std::runtime_error(std::string("Redis: ") + answer->str);
  return answer;
}

std::string load_release_script(redisContext& redis) {
  const auto answer = ask(redis, "SCRIPT LOAD %s",
                          "if redis.call('get', KEYS[1]) == ARGV[1] then "
                          "return redis.call('del', KEYS[1]) else return 0 end");
  return answer->str;
}

}  // namespace

figures run_redis_lock(const round_task& task) {
  const auto redis = connect(task.servers);
  const auto script = load_release_script(*redis);
  const char* const key = task.root.c_str();
  measured_interval interval(task);
  for (auto begun = measured_interval::clock::now();; begun = measured_interval::clock::now()) {
    const auto acquired = ask(*redis, "SET %s %s NX PX 30000", key, lock_token);
    if (acquired->type != REDIS_REPLY_STATUS)
      throw std::runtime_error("Redis: another client holds the lock");
    const auto released = ask(*redis, "EVALSHA %s 1 %s %s", script.c_str(), key, lock_token);
    if (released->integer != 1) throw std::runtime_error("Redis: the lock was lost");
    if (!interval.operation_done(begun)) break;
  }
  return interval.result();
}

}  // namespace conclave::bench
