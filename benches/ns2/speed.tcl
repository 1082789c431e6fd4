# The scenario of `cargo bench -p anabranch-sim --bench speed` in ns-2: 20 SCTP associations over three hops, 100 Mb/s in
# the middle, a SACK for every packet, nothing traced. Prints data packets, acknowledgements and CPU seconds.
set seconds [expr {[llength $argv] > 0 ? [lindex $argv 0] : 100}]
set net [new Simulator]
foreach name {source left right sink} { set node($name) [$net node] }
$net duplex-link $node(source) $node(left) 1000Mb 1ms DropTail
$net duplex-link $node(left) $node(right) 100Mb 18ms DropTail
$net duplex-link $node(right) $node(sink) 1000Mb 1ms DropTail
$net queue-limit $node(source) $node(left) 100000
$net queue-limit $node(left) $node(right) 333
set forth [$net monitor-queue $node(left) $node(right) [open /dev/null w]]
set back [$net monitor-queue $node(right) $node(left) [open /dev/null w]]

foreach {name value} {useDelayedSacks_ 0 initialRwnd_ 10000000 dataChunkSize_ 1468 unordered_ 1} {
    Agent/SCTP set $name $value
}
set starts [new RNG]
$starts seed 7
for {set i 0} {$i < 20} {incr i} {
    set sender [new Agent/SCTP]
    set receiver [new Agent/SCTP]
    $net attach-agent $node(source) $sender
    $net attach-agent $node(sink) $receiver
    $net connect $sender $receiver
    set application [new Application/FTP]
    $application attach-agent $sender
    $net at [$starts uniform 0 1] "$application start"
}

# CPU time of this process: the first number of schedstat, nanoseconds.
proc cpu {} {
    set file [open /proc/self/schedstat]
    set nanoseconds [lindex [split [gets $file]] 0]
    close $file
    return [expr {$nanoseconds / 1e9}]
}

$net at $seconds {
    puts "[$forth set pdepartures_] [$back set pdepartures_] [expr {[cpu] - $before}]"
    exit 0
}
set before [cpu]
$net run
