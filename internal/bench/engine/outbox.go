package engine

import (
	"context"
	"sync"
)

// maxUnsent is how many bytes of answers may wait for an engine that does not read. Tests have less.
var maxUnsent = 256 << 20

// An outbox has the messages that wait for an engine to read, in order. There may be a million: a program calls tools
// as fast as it can.
type outbox struct {
	mu     sync.Mutex
	more   *sync.Cond // of waits, and of closed
	waits  []outgoing
	unsent int // bytes
	closed bool
}

// An outgoing is a message with its line end, which nobody wants any more once ctx has ended.
type outgoing struct {
	ctx  context.Context
	text []byte
}

func newOutbox() *outbox {
	o := &outbox{}
	o.more = sync.NewCond(&o.mu)
	return o
}

func (o *outbox) put(m outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.waits = append(o.waits, m)
		o.unsent += len(m.text)
		o.more.Signal()
	}
}

// take waits for the next message; not ok if there will be none.
func (o *outbox) take() (m outgoing, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waits) == 0 && !o.closed {
		o.more.Wait()
	}
	if o.closed {
		return m, false
	}
	m, o.waits[0] = o.waits[0], outgoing{} // nothing holds its text
	o.waits = o.waits[1:]
	return m, true
}

// sent says that a message that was taken does not wait any more.
func (o *outbox) sent(m outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent -= len(m.text)
}

// bytes is how much waits.
func (o *outbox) bytes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unsent
}

// close drops what waits.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.waits = true, nil
	o.more.Broadcast()
}
