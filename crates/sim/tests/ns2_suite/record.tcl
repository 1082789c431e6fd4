# usage: ns record.tcl SUITE SCENARIO: runs one scenario of ns-2's SCTP test suite, with the sender's variables traced.
set suite [lindex $argv 0]
set name [lindex $argv 1]
set quiet 1
set f [open $suite r]; set text [read $f]; close $f
regsub {\nglobal argv arg0\nruntest \$argv\s*$} $text "\n" text
eval $text
set t [new Test/$name]
set all {}
foreach class {Agent/SCTP Agent/SCTP/HbAfterRto Agent/SCTP/MultipleFastRtx} { eval lappend all [$class info instances] }
set sender [lindex [lsort -dictionary $all] 0]
set vars [open trace.vars w]
$sender set trace_all_ 0
foreach v {cwnd_ rto_ timeoutCount_ frCount_} { $sender trace $v }
$sender attach $vars
$t run
