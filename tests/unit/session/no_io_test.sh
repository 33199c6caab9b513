#!/bin/sh
# The session layer and the layers below it must use neither sockets nor threads, because the
# simulator runs them in one thread on a virtual clock. $@: the libraries. (Boost's error categories
# use a mutex.)
names='socket|connect|send|recv|sendto|recvfrom|poll|epoll_wait|nanosleep|clock_nanosleep'
names="$names|pthread_(create|cond_wait|cond_timedwait)|_ZNSt6thread.*"
bad=$(nm -u "$@" | awk '$1 == "U" { print $2 }' | grep -xE "$names")
[ -z "$bad" ] || { echo "the session layer uses:"; echo "$bad"; exit 1; }
