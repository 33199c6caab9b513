// A stream of frames gives the same frames, however it is split into pieces.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "require.hpp"
#include "wire/frame.hpp"

namespace {

constexpr std::size_t limit = 4096;

void take(conclave::wire::frame_splitter& splitter, std::string_view bytes,
          std::vector<std::string>& frames) {
  const std::vector<char> exact{
      bytes.begin(), bytes.end()};  // destroyed after feed(), to detect dangling references
  splitter.feed({exact.data(), exact.size()});
  while (const auto payload = splitter.next()) {
    REQUIRE(payload->size() <= limit);
    frames.emplace_back(*payload);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input{data, size};
  const auto piece_seed = input.ConsumeIntegral<std::uint32_t>();
  const auto stream = input.ConsumeRemainingBytesAsString();

  conclave::wire::frame_splitter whole{limit};
  std::vector<std::string> at_once;
  take(whole, stream, at_once);

  conclave::wire::frame_splitter pieces{limit};
  std::vector<std::string> in_pieces;
  auto random = piece_seed;
  for (std::string_view rest = stream; !rest.empty();) {
    random = random * 1'664'525u + 1'013'904'223u;
    const auto n = (random >> 24) % 16 == 0 ? (random >> 16) % 5000 : (random >> 16) % 9;
    take(pieces, rest.substr(0, n), in_pieces);
    rest.remove_prefix(std::min<std::size_t>(n, rest.size()));
  }
  REQUIRE(at_once == in_pieces);
  REQUIRE(whole.failed() == pieces.failed() && whole.too_large() == pieces.too_large());

  std::size_t bytes = 0;
  for (const auto& frame : at_once) bytes += conclave::wire::frame_prefix + frame.size();
  REQUIRE(bytes <= stream.size());
  return 0;
}
