// The smallest program that needs both the headers and the library.
#include <cstdio>

#include <conclave/connect_string.hpp>
#include <conclave/version.hpp>

int main() {
  const auto where = conclave::connect_string::parse("zk1,zk2:2182/app");
  if (where.hosts.size() != 2 || where.hosts[1].port != 2182 || where.chroot != "/app") return 1;
  std::printf("conclave %s\n", conclave::version);
}
