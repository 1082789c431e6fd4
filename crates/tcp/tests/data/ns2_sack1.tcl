# One Sack1 flow over one link, for the recordings beside this file.
# usage: ns ns2_sack1.tcl drops=FILE slim=0|1 seed=11; FILE holds the packet numbers of the line "drops"; the result
# is ns.out: time and sequence number of every data packet that leaves.
array set o {seed 1 dur 300 drops "" slim 1 win 45 tcp Sack1 rate 3Mb}
foreach a $argv { set kv [split $a =]; set o([lindex $kv 0]) [lindex $kv 1] }
set ns [new Simulator]
ns-random $o(seed)
set a [$ns node]; set b [$ns node]
$ns duplex-link $a $b $o(rate) 254ms DropTail
$ns queue-limit $a $b 10000; $ns queue-limit $b $a 10000
set f [open $o(drops)]; set list [read $f]; close $f
set em [new ErrorModel/List]; $em droplist $list; $em drop-target [new Agent/Null]
$ns link-lossmodel $em $a $b
Agent/TCP set packetSize_ 1448
Agent/TCP set window_ $o(win)
Agent/TCP set minrto_ 1.0
Agent/TCP set tcpTick_ 0.01
Agent/TCP set windowInit_ 2
Agent/TCP set singledup_ $o(slim)
set tcp [new Agent/TCP/$o(tcp)]; set snk [new Agent/TCPSink/Sack1]
$ns attach-agent $a $tcp; $ns attach-agent $b $snk; $ns connect $tcp $snk
set ftp [new Application/FTP]; $ftp attach-agent $tcp
set t [open "|awk {\$1==\"+\" && \$3==0 && \$5==\"tcp\" && \$11>0 {print \$2,\$11}} > ns.out" w]
$ns trace-queue $a $b $t
$ns at 0.0 "$ftp start"
$ns at $o(dur) "$ns flush-trace; close $t; exit 0"
$ns run
