package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"sync"
	"syscall"
)

// tally counts messages; its digests are those of ../README.md.
type tally struct {
	lock     sync.Mutex
	messages uint64
	bytes    uint64
	streams  map[uint16]uint32
	sum      uint64
	quiet    bool
}

func (t *tally) message(stream uint16, payload []byte) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.messages++
	t.bytes += uint64(len(payload))
	if t.quiet {
		return
	}
	if t.streams == nil {
		t.streams = map[uint16]uint32{}
	}
	t.streams[stream] = crc32.Update(t.streams[stream], crc32.IEEETable, payload)
	t.sum += uint64(crc32.ChecksumIEEE(payload))
}

func (t *tally) count() uint64 {
	t.lock.Lock()
	defer t.lock.Unlock()

	return t.messages
}

type count struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Digest   string `json:"digest"`
	Sum      string `json:"sum"`
}

func (t *tally) report() count {
	t.lock.Lock()
	defer t.lock.Unlock()
	var digest uint64
	for stream, crc := range t.streams {
		digest += (2*uint64(stream) + 1) * uint64(crc)
	}

	return count{t.messages, t.bytes, fmt.Sprintf("%016x", digest), fmt.Sprintf("%016x", t.sum)}
}

type report struct {
	Stack       string   `json:"stack"`
	Cannot      string   `json:"cannot,omitempty"`
	Established uint64   `json:"established"`
	Graceful    uint64   `json:"graceful"`
	Aborted     uint64   `json:"aborted"`
	Lost        uint64   `json:"lost"`
	Restarts    uint64   `json:"restarts"`
	Resets      uint64   `json:"resets"`
	Deadline    bool     `json:"deadline"`
	Sent        count    `json:"sent"`
	Received    count    `json:"received"`
	ElapsedNs   int64    `json:"elapsed_ns"`
	CPUNs       int64    `json:"cpu_ns"`
	MaxRSSKiB   int64    `json:"max_rss_kib"`
	Notes       []string `json:"notes"`
}

func (r *report) print() {
	if r.Notes == nil {
		r.Notes = []string{}
	}
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // A report has only numbers and texts.
	}
	fmt.Println(string(line))
}

// usage is the CPU time of this process (ns) and the most memory it has had (KiB).
func usage() (int64, int64) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // Of the process itself it cannot fail.
	}

	return used.Utime.Nano() + used.Stime.Nano(), used.Maxrss
}
