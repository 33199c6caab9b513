// What went over the links, by the proxy's count.
#pragma once

#include "harness/figures.hpp"
#include "support/link_proxy.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* requests = "requests";
inline constexpr const char* replies = "replies_and_events";
inline constexpr const char* events = "events";
inline constexpr const char* frames = "frames";
inline constexpr const char* bytes_to_server = "bytes_to_server";
inline constexpr const char* bytes_to_client = "bytes_to_client";
inline constexpr const char* bytes = "bytes";
}  // namespace figure

struct traffic {
  double requests{0};
  double replies{0};
  double events{0};
  double bytes_to_server{0};
  double bytes_to_client{0};

  explicit traffic(const testing::link_proxy& proxy);
  // Since the earlier count, for each of so many operations.
  figures since(const traffic& earlier, double operations) const;
};

}  // namespace conclave::bench
