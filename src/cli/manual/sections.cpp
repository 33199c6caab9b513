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
runs commands under locks, moves work through queues and elects leaders, on one machine or across
many. It speaks the protocol of Apache ZooKeeper, and shares locks with programs that use Curator,
kazoo or ZooKeeper's own recipes.
.PP
There is nothing to set up. Without a word about servers it uses one of its own on this machine,
which it starts in the background when it is needed and which ends when nobody has used it for a
while. With
.B CONCLAVE_CONNECT
set to the servers of an ensemble, the same commands work across machines.
.PP
Everything has a
.IR PATH ,
as
.IR backups/db .
One that does not begin with a slash is below
.IR /conclave .
.PP
Those who want the same lock stand in a line in the order in which they came, and
.B conclave status
shows it. Whoever holds a lock has a
.IR "fencing token" ,
a number that is larger than that of everybody before: what a command writes elsewhere can carry it,
and be refused where a larger one was seen.
.PP
With
.BR \-\-json ,
times are in UTC, and in milliseconds since 1970 where _ms stands behind the name. Fencing tokens,
zxids and session ids are numbers, and text where _text stands behind the name: programs that keep
numbers as floating point round them above 2^53.
.PP
Times are written 500ms, 10s, 5m or 2h. A number alone is in seconds; those of
.B conclave serve
are in milliseconds then, as ZooKeeper's are.
)";

const char* const manual_after_commands = R"(.SH ENVIRONMENT
.TP
.B CONCLAVE_CONNECT
The servers, as
.BR \-\-connect :
.IR host:port,... ,
with a path at the end under which everything is to be, or
.IR unix:/path .
.TP
.B CONCLAVE_LOCAL
The folder of this user's own server, instead of
.IR \(ti/.local/share/conclave .
With it, the server for all users of the machine is not looked for.
.TP
.B CONCLAVE_CONFIG
The settings file, instead of the two below.
.TP
.B NO_COLOR
If it is not empty, nothing is coloured.
.PP
Commands that are run find these:
.TP
.B CONCLAVE_LOCK_PATH
The path of the lock; of several, the first.
.TP
.B CONCLAVE_LOCK_NODE
The node by which it is held.
.TP
.B CONCLAVE_FENCING_TOKEN
The fencing token, a number.
.TP
.B CONCLAVE_SESSION_ID
The session that holds it, a number.
.TP
.BR CONCLAVE_ELECTION_PATH ", " CONCLAVE_LEADER_ID
Of
.BR "conclave elect" :
the path of the election, and who leads, which is us.
.TP
.BR CONCLAVE_QUEUE_PATH ", " CONCLAVE_ITEM_NAME ", " CONCLAVE_ITEM_ATTEMPT
Of
.BR "conclave queue work" :
the path of the queue, the name of the item, and how often it was taken, this time included.
.SH FILES
.TP
.IR /etc/conclave/config ", " \(ti/.config/conclave/config
Settings, in lines of
.IR "name = value" ;
comments begin with #. The second one, of the user, goes before the first. Names are those of the
options without their dashes:
.BR connect ", " session\-timeout ", " connect\-timeout ", " auth\-file ", " tls ", " tls\-ca ,
.BR tls\-cert ", " tls\-key ", " tls\-key\-password\-file " and " tls\-any\-host .
.BR tls " and " tls\-any\-host
are yes or no.
.TP
.I \(ti/.local/share/conclave
This user's own server: its
.IR socket ,
its data and its
.IR log .
The home folder is that of the user's id and not
.BR HOME ,
so that cron, sudo and a login shell mean the same one.
.TP
.I /run/conclave/socket
The server for all users of this machine
.RB ( "conclave serve \-\-system" ).
If it is there, it is used rather than one of this user's own. Its data are in
.IR /var/lib/conclave .
.PP
Where a command connects is decided by the first of these that says something:
.BR \-\-connect ,
.BR CONCLAVE_CONNECT ,
.B connect
in a settings file, the server for all users of this machine, this user's own.
.SH EXIT STATUS
Commands that run another one end with its exit status, or with 128 and the number of the signal
that ended it. Otherwise:
.TP
.B 0
Done.
.TP
.B 1
Not done: a lock was not acquired
.RB ( \-E
sets another number for that), there is nothing there, the server refused.
.TP
.B 64
The command line makes no sense.
.TP
.B 69
No server could be reached.
.TP
.B 74
An item of a queue could not be printed. It is still there.
.TP
.B 75
A lock, or leadership, was lost while the command ran. It is never 0 then.
.TP
.B 78
Others use the path with another layout, or another number of permits.
.TP
.B 126
The command cannot be executed.
.TP
.B 127
The command was not found.
.SH EXAMPLES
One backup at a time; the second waits for the first:
.PP
.EX
  conclave lock backups/db \-\- ./backup.sh
.EE
.PP
In a crontab, with no waiting and no mail if the last one still runs:
.PP
.EX
  */5 * * * * conclave lock \-n \-E 0 nightly \-\- /usr/local/bin/nightly
.EE
.PP
Four renderers on the whole fleet:
.PP
.EX
  export CONCLAVE_CONNECT=zk1,zk2,zk3
  conclave lock \-\-permits 4 render \-\- ./render.sh
.EE
.PP
A store that takes no writes of somebody who has lost the lock:
.PP
.EX
  conclave lock accounts \-c 'curl \-H "Token: $CONCLAVE_FENCING_TOKEN" \-d @new http://store/'
.EE
.PP
Who holds what, and may I have it:
.PP
.EX
  conclave status \-\-watch
  conclave revoke backups/db \-\-wait 30
.EE
.SH SAFETY
.SS On one machine (a Unix socket)
The server sees processes and counts no time. A lock is held as long as any process has the
connection:
.B conclave
itself, or what its command has started, which inherits it, as with
.BR flock (1).
If
.B conclave
is killed, the lock stays until the last of them has ended. A process that is stopped keeps its lock.
.PP
If the server dies under a command, it is started again, and the lock is held over that, as long as
it is back before the session's timeout. From then on the lock is kept by
.B conclave
alone: if that is killed, a process beside it kills the command's process group. The same process
kills the group if the server dies while
.B conclave
is gone already, or stopped for longer than the session's timeout.
.PP
What a command starts in a process group of its own, with descriptors closed, is not known to
anybody: it does not keep the lock, and is not ended.
.SS Across machines (TCP)
Servers count time: a session of which they have heard nothing for
.B \-\-session\-timeout
is over, and its locks are given to the next. So when the connection is lost, and as time runs out,
the command's process group gets SIGTERM and, after
.BR \-\-kill\-after ,
SIGKILL: all of that before the server can give the lock away. If
.B conclave
itself is killed, or stopped for longer than the lock is held, a small process beside it kills the
group.
.PP
It cannot do so if the whole machine stands still and goes on later, as virtual machines do; nor
reach what has left the process group, or works on another machine. And in an ensemble, a server
that is cut off may learn late what its leader has decided. Where that matters, what is written
must carry the fencing token, and be refused by its number.
.SS Always
The environment decides which server is asked. Two commands that ask different servers do not
exclude each other: a user's own server is not that of another user, and none of them is the one in
.BR CONCLAVE_CONNECT .
.PP
All programs that share a lock must use the same
.BR \-\-layout ,
and the same
.BR \-\-permits .
Others are refused where they are seen.
.SH SEE ALSO
.BR flock (1),
.BR timeout (1),
.BR crontab (5)
)";

}  // namespace conclave::cli
