// Decodes transactions and their replies. The first byte selects one of the two.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "require.hpp"
#include "wire/multi.hpp"

namespace conclave::wire {
namespace {

template <class Parts, auto Read, auto Write>
void round_trip(std::string_view bytes) {
  reader in{bytes};
  Parts parts;
  const bool good = Read(in, parts);
  REQUIRE(parts.size() <= max_multi_parts + 1);
  if (!good) return;
  REQUIRE(in.ok());
  std::string first;
  writer out{first};
  Write(out, parts);
  REQUIRE(first.size() <= bytes.size());

  reader again{first};
  Parts same;
  REQUIRE(Read(again, same));
  REQUIRE(again.ok() && again.at_end() && same.size() == parts.size());
  std::string second;
  writer out_again{second};
  Write(out_again, same);
  REQUIRE(first == second);
}

}  // namespace
}  // namespace conclave::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace conclave::wire;
  if (size == 0) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  if (data[0] % 2 == 0)
    round_trip<std::vector<multi_part>, &read_multi_request, &write_multi_request>(bytes);
  else
    round_trip<std::vector<multi_reply>, &read_multi_response, &write_multi_response>(bytes);
  return 0;
}
