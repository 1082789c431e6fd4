package main

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	chunkInit             = 1
	chunkAbort            = 6
	chunkShutdownComplete = 14
)

// conn is the net.Conn of one association on a socket that outlives it. It also looks at what passes: pion does not tell how an
// association has ended.
type conn struct {
	udp       *net.UDPConn
	lock      sync.Mutex
	remote    *net.UDPAddr
	closed    atomic.Bool
	aborted   atomic.Bool
	completed atomic.Bool
	restarted atomic.Bool
	up        atomic.Bool
}

func first(packet []byte) byte {
	if len(packet) < 13 {
		return 255
	}

	return packet[12]
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		n, from, err := c.udp.ReadFromUDP(p)
		if c.closed.Load() {
			return 0, net.ErrClosed
		}
		if err != nil {
			return 0, err
		}
		switch first(p[:n]) {
		case chunkAbort:
			c.aborted.Store(true)
		case chunkShutdownComplete:
			c.completed.Store(true)
		case chunkInit:
			if c.up.Load() {
				c.restarted.Store(true)
			}
		}
		c.lock.Lock()
		c.remote = from
		c.lock.Unlock()

		return n, nil
	}
}

func (c *conn) Write(p []byte) (int, error) {
	if first(p) == chunkShutdownComplete {
		c.completed.Store(true)
	}
	c.lock.Lock()
	to := c.remote
	c.lock.Unlock()
	// Nobody there, or a full buffer: lost, as in a network.
	_, _ = c.udp.WriteToUDP(p, to)

	return len(p), nil
}

func (c *conn) Close() error {
	c.closed.Store(true)

	return c.udp.SetReadDeadline(time.Now())
}

func (c *conn) LocalAddr() net.Addr                { return c.udp.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr               { return c.remote }
func (c *conn) SetDeadline(t time.Time) error      { return c.udp.SetDeadline(t) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.udp.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.udp.SetWriteDeadline(t) }
