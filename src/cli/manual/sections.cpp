// The hand-written sections of conclave(1).
#include "cli/manual/manual.hpp"

namespace conclave::cli {

const char* const manual_before_commands = R"(.SH NAME
conclave \- distributed locks, queues and leader election
.SH SYNOPSIS
.B conclave lock
.RI [ OPTION ...]
.IR PATH ...
.B \-\-
.IR COMMAND " [" ARGUMENT ...]
.br
.B conclave
.RI [ "SERVER OPTION" ...]
.IR COMMAND " [" OPTION ...]
.RI [ ARGUMENT ...]
.br
.B conclave help
.RI [ COMMAND ]
.SH DESCRIPTION
.B conclave
runs commands under locks, processes the items of queues and elects leaders, on one or more machines.
It uses the protocol of Apache ZooKeeper. It shares locks with programs that use Curator, kazoo or
ZooKeeper's own recipes.
.PP
On one machine, no setup is needed. By default, commands use a server on this machine. If there is no
server for all users, each user has a private server. The first command starts it in the background,
and it exits after 15 minutes without use. With
.B CONCLAVE_CONNECT
set to the servers of an ensemble, the same commands work across machines.
.PP
Each lock, queue and election has a
.IR PATH ,
for example
.IR backups/db .
A path without a leading slash is below
.IR /conclave .
.PP
The contenders of a lock wait in the order of their arrival.
.B conclave status
shows this order. Each holder has a
.IR "fencing token" ,
a number that is larger than those of all earlier holders. A command can send it with each write to
another service. That service can then refuse a write if it has seen a larger number.
.PP
With
.BR \-\-json ,
times are in UTC. Fields whose names end in _ms contain the same time in milliseconds since 1970.
Fencing tokens, zxids and session ids are numbers. Fields whose names end in _text contain the same
value as a string, for programs that round numbers above 2^53.
.PP
Times are written 500ms, 10s, 5m or 2h. A number without a unit is in seconds.
)";

const char* const manual_after_commands = R"(.SH ENVIRONMENT
.TP
.B CONCLAVE_CONNECT
The servers, as for
.BR \-\-connect :
.IR host:port,... ,
optionally followed by
.IR /path ,
which becomes the root of all paths; or
.IR unix:/path .
.TP
.B CONCLAVE_LOCAL
The folder of this user's own server, as an absolute path. The default is
.IR \(ti/.local/share/conclave .
If it is set, the server for all users of this machine is not used.
.TP
.B CONCLAVE_CONFIG
The settings file. If it is set, the two files below are not read.
.TP
.B NO_COLOR
If it is not empty, the output has no colours.
.PP
.B conclave lock\fR, \fBelect
and
.B queue work
set these variables for the command that they run:
.TP
.B CONCLAVE_LOCK_PATH
.RB ( lock )
The path of the lock. With several paths, it is the path that contains the node: the first one in
alphabetical order.
.TP
.B CONCLAVE_LOCK_NODE
The node that represents the lock, the leadership, or the claim of the item.
.TP
.B CONCLAVE_FENCING_TOKEN
The fencing token, a number.
.TP
.B CONCLAVE_SESSION_ID
The session that owns the node, a number.
.TP
.B CONCLAVE_HELD
.RB ( lock ", " elect )
The locks that the command runs under. Only
.B conclave
itself reads this variable:
.B conclave lock
without
.BR \-n " and " \-w ,
and
.BR "conclave elect" ,
refuse to wait for one of these locks, because the wait would never end.
.TP
.B CONCLAVE_TASK
.RB ( lock )
The ids of the locks that the command runs under. Only
.B conclave lock
reads this variable, so that
.B conclave status \-\-deadlocks
can report commands that wait for each other.
.TP
.BR CONCLAVE_ELECTION_PATH ", " CONCLAVE_LEADER_ID
.RB ( elect )
The path of the election and the id of this leader.
.TP
.BR CONCLAVE_QUEUE_PATH ", " CONCLAVE_ITEM_NAME ", " CONCLAVE_ITEM_ATTEMPT
.RB ( "queue work" )
The path of the queue, the name of the item, and the number of attempts including this one.
.SH FILES
.TP
.IR /etc/conclave/config ", " \(ti/.config/conclave/config
Settings, in lines of
.IR "name = value" .
Comments begin with #. The second file takes precedence. The names are those of the options without
their dashes:
.BR connect ", " session\-timeout ", " connect\-timeout ", " auth\-file ", " tls ", " tls\-ca ,
.BR tls\-cert ", " tls\-key ", " tls\-key\-password\-file " and " tls\-any\-host .
.BR tls " and " tls\-any\-host
are yes or no.
.TP
.I \(ti/.local/share/conclave
The
.IR socket ,
the data and the
.I log
of this user's own server. The home folder is that of the user id, not
.BR HOME .
So cron, sudo and a login shell use the same server.
.TP
.IR /run/conclave/socket ", " /var/lib/conclave
The socket and the data of the server for all users of this machine
.RB ( "conclave serve \-\-system" ).
A machine has such a server if
.I /run/conclave
or
.I /var/lib/conclave
exists, or if its systemd unit is enabled.
.PP
A command uses the first of these servers that is set or exists:
.BR \-\-connect ,
.BR CONCLAVE_CONNECT ,
.B connect
in a settings file, this user's own server in the folder
.BR CONCLAVE_LOCAL ,
the server for all users of this machine, this user's own server in
.IR \(ti/.local/share/conclave .
.SH EXIT STATUS
.B conclave lock
and
.B conclave elect
return the exit status of their command, or 128 + N if signal N ended the command. If signal N arrives
while
.B conclave
waits, the exit status is 128 + N. After SIGINT (Ctrl-C),
.B conclave
ends itself with SIGINT. In all other cases:
.TP
.B 0
The command succeeded.
.TP
.B 1
The lock was not acquired
.RB ( \-E
sets another number for this case). Or the item, node or leader does not exist. Or the server refused
a request for a reason that is not listed below.
.TP
.B 64
The command line or a settings file is wrong, or a file that it names cannot be read. Or
.B conclave
runs under the lock that it would wait for.
.TP
.B 69
There is no server, the server refuses the connection, its disk is full, or the chroot does not exist.
.TP
.B 71
The system has no more file descriptors, processes or memory.
.TP
.B 74
The output could not be written.
.B queue pop
puts the item back, and
.B lock \-\-hold
releases the lock.
.TP
.B 75
The lock or leadership was lost while the command ran. Or the connection was lost and the command got
SIGTERM, because of
.B \-\-on\-suspend term
or because the deadline was near. In both cases the exit status of the command is ignored. Or
.B queue pop
has printed an item but could not remove it, so another consumer may get the same item.
.TP
.B 77
An ACL forbids the request. The options
.BR \-n ", " \-w " and " \-E
do not change this exit status.
.TP
.B 78
Other programs use the path with another layout or number of permits. The message names the option to
use.
.TP
.B 79
.RB ( "status \-\-deadlocks" ", " why )
There is a deadlock.
.TP
.B 80
.RB ( "status \-\-deadlocks" ", " why )
There is only a possible deadlock.
.TP
.B 126
The command cannot be executed.
.TP
.B 127
The command was not found.
.SH EXAMPLES
Run one backup at a time. The second one waits for the first:
.PP
.EX
  conclave lock backups/db \-\- ./backup.sh
.EE
.PP
In a crontab, skip a run, without a mail, if the previous run has not ended:
.PP
.EX
  */5 * * * * conclave lock \-n \-E 0 nightly \-\- /usr/local/bin/nightly
.EE
.PP
Run at most four renderers on all machines:
.PP
.EX
  export CONCLAVE_CONNECT=zk1,zk2,zk3
  conclave lock \-\-permits 4 render \-\- ./render.sh
.EE
.PP
Send the fencing token to a service that refuses writes of earlier holders:
.PP
.EX
  conclave lock accounts \-c 'curl \-H "Token: $CONCLAVE_FENCING_TOKEN" \-d @new http://store/'
.EE
.PP
Show all holders, and ask one of them to release its lock:
.PP
.EX
  conclave status \-\-watch
  conclave revoke backups/db \-\-wait 30
.EE
.SH SAFETY
.SS With a server on this machine (Unix socket)
As with
.BR flock (1),
the processes of the command inherit a descriptor, and the lock is held while one of these processes
is alive. It is also held while the first process of the command is alive, even if that process has
closed the descriptor, as
.BR ssh (1)
and
.BR sudo (8)
do. The descriptor only keeps the session alive. The server accepts no requests on it. The kernel
reports the end of these processes to the server, so no clock is involved. If
.B conclave
is killed, the command continues, and the lock is held until its last process has ended. A stopped
process keeps the lock. A background process that closes all descriptors, as daemons do, does not keep
the lock.
.PP
After a restart of the server,
.B conclave
reconnects within the session timeout and keeps the lock. If this user's own server has ended,
.B conclave
starts it again. A small guard process does the same, even if
.B conclave
has ended, was killed, or is stopped. The guard starts before the command and ends after the last
process of the command.
.PP
The lock is lost if the guard cannot reconnect within three quarters of the session timeout, or if the
session has expired. The guard then kills the command's process group, and all other processes that it
finds with the inherited descriptor.
.B conclave
replaces a killed guard. If
.B conclave
and the guard are both killed, the lock is held until the server ends. After that, the command runs
without the lock.
.PP
A relay such as
.BR socat (1),
or a client in another PID namespace, follows the rules for TCP.
.SS Over TCP
The server expires a session from which it has received nothing for
.BR \-\-session\-timeout .
After that, it can grant the lock to another client. So if the server does not answer, the command's
process group gets SIGTERM, and SIGKILL after
.BR \-\-kill\-after .
SIGKILL is sent at the deadline at the latest. The deadline is the earliest moment at which a single
server can grant the lock to another client. If
.B conclave
is killed, the guard kills the process group at once. If
.B conclave
is stopped, the guard kills the process group at the deadline.
.PP
In the following cases the command can run after the lock was granted to another client. Then only a
service that compares fencing tokens is safe.
.IP \(bu 2
The whole machine is suspended and resumed.
.IP \(bu 2
A process has left the command's process group.
.IP \(bu 2
A process runs as another user
.RB ( sudo (8)),
so
.B conclave
has no permission to kill it.
.IP \(bu 2
The guard is killed together with
.BR conclave .
.IP \(bu 2
A server of an ensemble has lost its connection to the leader and learns late that the session has
expired.
.SS With any server
.B conclave
has no permission to signal a process of another user, such as a set\-uid program. To run such a
program, run
.B conclave
as that user, too:
.BR "sudo conclave lock x \-\- COMMAND" .
If the lock is lost while such a process runs,
.B conclave
names it and exits with 75.
.PP
Commands exclude each other only if they use the same server. Each user's own server is
independent of the servers of other users and of the servers in
.BR CONCLAVE_CONNECT .
.PP
All programs that share a lock must use the same
.B \-\-layout
and the same number of
.BR \-\-permits .
A command that finds nodes of another layout, or another number of permits, fails with exit status 78.
.SH SEE ALSO
.BR flock (1),
.BR timeout (1),
.BR crontab (5)
)";

}  // namespace conclave::cli
