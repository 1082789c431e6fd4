// Driver of pion/sctp: the command line and the report are those of ../README.md.
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/pion/sctp"
)

// sendBuffer is how much may be queued: pion takes whatever it is given.
const sendBuffer = 1 << 20

type plan struct {
	role                       string
	local, remote, name, end   string
	send, expect, associations uint64
	size, streams, pause, rtx  int
	mtu, window                int
	unordered, reset, atOnce   bool
	untilUp                    bool
	interleaving, zero, quiet  bool
	deadline                   float64
}

func read() plan {
	p := plan{}
	if len(os.Args) < 2 || (os.Args[1] != "listen" && os.Args[1] != "connect") {
		fmt.Fprintln(os.Stderr, "listen or connect is expected")
		os.Exit(2)
	}
	p.role = os.Args[1]
	flags := flag.NewFlagSet("peer-pion", flag.ExitOnError)
	flags.StringVar(&p.local, "local", "", "own UDP address")
	flags.StringVar(&p.remote, "remote", "", "UDP address of the other side")
	flags.StringVar(&p.name, "case", "", "name of the case")
	flags.StringVar(&p.end, "end", "wait", "shutdown, abort or wait")
	flags.Uint64Var(&p.send, "send", 0, "messages")
	flags.Uint64Var(&p.expect, "expect", 0, "messages to wait for")
	flags.Uint64Var(&p.associations, "associations", 1, "one after the other")
	flags.IntVar(&p.size, "size", 1024, "bytes of a message")
	flags.IntVar(&p.streams, "streams", 1, "streams")
	flags.IntVar(&p.pause, "pause", 0, "ms without reading")
	flags.IntVar(&p.rtx, "rtx", -1, "retransmissions")
	flags.IntVar(&p.mtu, "mtu", 1228, "largest SCTP packet")
	flags.IntVar(&p.window, "window", 0, "receive window")
	flags.BoolVar(&p.unordered, "unordered", false, "")
	flags.BoolVar(&p.untilUp, "until-up", false, "")
	flags.BoolVar(&p.reset, "reset", false, "")
	flags.BoolVar(&p.atOnce, "at-once", false, "")
	flags.BoolVar(&p.interleaving, "interleaving", false, "")
	flags.BoolVar(&p.zero, "zero-checksum", false, "")
	flags.BoolVar(&p.quiet, "no-digest", false, "")
	flags.Float64Var(&p.deadline, "deadline", 30, "seconds")
	_ = flags.Parse(os.Args[2:]) // It ends the program at an error.

	return p
}

// driver plays a plan.
type driver struct {
	plan     plan
	udp      *net.UDPConn
	remote   *net.UDPAddr
	lock     sync.Mutex
	report   report
	sent     *tally
	received *tally
	firstUp  time.Time
	last     time.Time
	cpu      int64
	template []byte
}

func (d *driver) message(number uint64) []byte {
	if d.plan.quiet {
		return d.template
	}
	message := append([]byte(nil), d.template...)
	var digits [8]byte
	binary.LittleEndian.PutUint64(digits[:], number)
	copy(message, digits[:])

	return message
}

func (d *driver) note(what string) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if len(d.report.Notes) < 20 {
		d.report.Notes = append(d.report.Notes, what)
	}
}

func (d *driver) touch() {
	d.lock.Lock()
	d.last = time.Now()
	d.lock.Unlock()
}

func (d *driver) options(c *conn) []sctp.AssociationOption {
	options := []sctp.AssociationOption{
		sctp.WithNetConn(c),
		sctp.WithMTU(uint32(d.plan.mtu)),
		sctp.WithMaxMessageSize(1 << 20),
		sctp.WithEnableInterleaving(d.plan.interleaving),
		sctp.WithEnableZeroChecksum(d.plan.zero),
	}
	if d.plan.window > 0 {
		options = append(options, sctp.WithMaxReceiveBufferSize(uint32(d.plan.window)))
	}

	return options
}

func (d *driver) establish(c *conn) (*sctp.Association, error) {
	if d.plan.role == "connect" {
		options := []sctp.ClientOption{}
		for _, option := range d.options(c) {
			options = append(options, option)
		}

		return sctp.ClientWithOptions(options...)
	}
	options := []sctp.ServerOption{}
	for _, option := range d.options(c) {
		options = append(options, option)
	}

	return sctp.ServerWithOptions(options...)
}

// live is one association and who reads from it.
type live struct {
	driver  *driver
	from    time.Time
	readers sync.WaitGroup
	before  uint64
	lock    sync.Mutex
	reading map[*sctp.Stream]bool
	resets  chan uint16
}

func (l *live) read(stream *sctp.Stream) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.reading[stream] {
		return
	}
	l.reading[stream] = true
	l.readers.Add(1)
	go func() {
		defer l.readers.Done()
		time.Sleep(time.Until(l.from))
		room := make([]byte, 1<<20)
		for {
			n, err := stream.Read(room)
			if err != nil {
				l.resets <- stream.StreamIdentifier()

				return
			}
			l.driver.received.message(stream.StreamIdentifier(), room[:n])
			l.driver.touch()
		}
	}()
}

func (d *driver) stream(l *live, a *sctp.Association, id uint16) (*sctp.Stream, error) {
	stream, err := a.OpenStream(id, sctp.PayloadTypeWebRTCBinary)
	if err != nil {
		return nil, err
	}
	kind, value := sctp.ReliabilityTypeReliable, 0
	if d.plan.rtx >= 0 {
		kind, value = sctp.ReliabilityTypeRexmit, d.plan.rtx
	}
	stream.SetReliabilityParams(d.plan.unordered, kind, uint32(value))
	l.read(stream)

	return stream, nil
}

// write sends the messages from one number to another.
func (d *driver) write(l *live, a *sctp.Association, streams []*sctp.Stream, from, to uint64) error {
	for number := from; number < to; number++ {
		id := uint16(number % uint64(d.plan.streams))
		if streams[id] == nil {
			stream, err := d.stream(l, a, id)
			if err != nil {
				return err
			}
			streams[id] = stream
		}
		for a.BufferedAmount() > sendBuffer {
			time.Sleep(100 * time.Microsecond)
		}
		message := d.message(number)
		if _, err := streams[id].Write(message); err != nil {
			return err
		}
		d.sent.message(id, message)
	}
	d.touch()

	return nil
}

// reset resets all streams, and waits until the peer has reset its own in turn: pion's stream ends then.
func (d *driver) reset(l *live, streams []*sctp.Stream) {
	left := 0
	for _, stream := range streams {
		if stream != nil {
			left++
			if err := stream.Close(); err != nil {
				d.note("reset: " + err.Error())
			}
		}
	}
	for ; left > 0; left-- {
		<-l.resets
	}
	clear(streams)
	d.lock.Lock()
	d.report.Resets++
	d.lock.Unlock()
}

func (d *driver) use(l *live, a *sctp.Association) {
	streams := make([]*sctp.Stream, d.plan.streams)
	half := d.plan.send
	if d.plan.reset {
		half /= 2
	}
	err := d.write(l, a, streams, 0, half)
	if err == nil && d.plan.reset {
		d.reset(l, streams)
		err = d.write(l, a, streams, half, d.plan.send)
	}
	if err != nil {
		d.note("write: " + err.Error())

		return
	}
	for d.received.count()-l.before < d.plan.expect {
		time.Sleep(time.Millisecond)
	}
	switch d.plan.end {
	case "shutdown":
		if err := a.Shutdown(context.Background()); err != nil {
			d.note("shutdown: " + err.Error())
		}
	case "abort":
		a.Abort("enough")
	}
}

// one plays one association.
func (d *driver) one() {
	if err := d.udp.SetDeadline(time.Time{}); err != nil {
		panic(err) // The socket is open.
	}
	c := &conn{udp: d.udp, remote: d.remote}
	before := d.received.count()
	a, err := d.establish(c)
	if err != nil {
		d.note("handshake: " + err.Error())
		d.lock.Lock()
		d.report.Lost++
		d.lock.Unlock()

		return
	}
	c.up.Store(true)
	now := time.Now()
	d.lock.Lock()
	d.report.Established++
	if d.firstUp.IsZero() {
		d.firstUp = now
	}
	d.last = now
	d.lock.Unlock()
	if d.plan.untilUp {
		d.finish(false)
	}
	l := &live{
		driver: d, from: now.Add(time.Duration(d.plan.pause) * time.Millisecond), before: before,
		reading: map[*sctp.Stream]bool{}, resets: make(chan uint16, 1<<17),
	}
	go d.use(l, a)
	for {
		stream, err := a.AcceptStream()
		if err != nil {
			break
		}
		l.read(stream)
	}
	_ = a.Close() // It is over in any case.
	l.readers.Wait()
	d.lock.Lock()
	defer d.lock.Unlock()
	d.last = time.Now()
	switch {
	case c.aborted.Load():
		d.report.Aborted++
	case c.completed.Load():
		d.report.Graceful++
	default:
		d.report.Lost++
	}
}

func (d *driver) finish(deadline bool) {
	cpu, rss := usage()
	d.lock.Lock()
	defer d.lock.Unlock()
	d.report.Deadline = deadline
	d.report.Sent, d.report.Received = d.sent.report(), d.received.report()
	d.report.CPUNs, d.report.MaxRSSKiB = cpu-d.cpu, rss
	if !d.firstUp.IsZero() {
		d.report.ElapsedNs = d.last.Sub(d.firstUp).Nanoseconds()
	}
	d.report.print()
	if d.plan.untilUp {
		_, _ = io.Copy(io.Discard, os.Stdin) // Late packets of the handshake are answered until nobody waits for this program.
	}
	os.Exit(0)
}

func main() {
	plan := read()
	local, err := net.ResolveUDPAddr("udp", plan.local)
	if err == nil {
		var remote *net.UDPAddr
		if remote, err = net.ResolveUDPAddr("udp", plan.remote); err == nil {
			err = play(plan, local, remote)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

func play(plan plan, local, remote *net.UDPAddr) error {
	udp, err := net.ListenUDP("udp", local)
	if err != nil {
		return err
	}
	_ = udp.SetReadBuffer(4 << 20) // As much as the system allows.
	_ = udp.SetWriteBuffer(4 << 20)
	d := &driver{
		plan: plan, udp: udp, remote: remote, report: report{Stack: "pion"},
		sent: &tally{quiet: plan.quiet}, received: &tally{quiet: plan.quiet}, template: make([]byte, plan.size),
	}
	for at := range d.template {
		d.template[at] = byte(at*31 + 7)
	}
	d.cpu, _ = usage()
	fmt.Println(`{"ready":true}`)
	time.AfterFunc(time.Duration(plan.deadline*float64(time.Second)), func() { d.finish(true) })
	for ended := uint64(0); ended < plan.associations; ended++ {
		d.one()
	}
	d.finish(false)

	return nil
}
