package otlp

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
)

// A Sender sends items of one kind in batches, and waits for nothing: it drops what its full queue has no room for, and
// gives up what the collector does not take. It counts both, and logs each once until the collector takes some again.
type Sender[T any] struct {
	to      Collector
	what    string // in the log: "spans"
	request func([]T) any
	log     *slog.Logger

	queue chan T
	done  chan struct{}
	stop  context.CancelFunc

	sent, lost, dropped atomic.Int64
	full                atomic.Bool // it was logged
	failed              bool        // the same

	mu     sync.RWMutex
	closed bool
}

const (
	// MaxQueue is how many items may wait.
	MaxQueue  = 8192
	maxBatch  = 512
	sendEvery = time.Second
)

// NewSender makes a Sender. what names its items, and request makes a request of a batch.
func NewSender[T any](to Collector, what string, request func([]T) any, log *slog.Logger) *Sender[T] {
	ctx, stop := context.WithCancel(context.Background())
	s := &Sender[T]{to: to, what: what, request: request, log: log, stop: stop,
		queue: make(chan T, MaxQueue), done: make(chan struct{})}
	go s.run(ctx)
	return s
}

// Add queues an item. Many goroutines may call it. After [Sender.Close] it drops it.
func (s *Sender[T]) Add(item T) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.closed {
		select {
		case s.queue <- item:
			return
		default:
		}
		if !s.full.Swap(true) {
			s.log.Warn("the collector is too slow: some "+s.what+" are not sent to it", "collector", s.origin())
		}
	}
	s.dropped.Add(1)
}

// Counts counts, since the start, the items that the collector took, those that it did not, and those that were
// dropped.
func (s *Sender[T]) Counts() (sent, lost, dropped int64) {
	return s.sent.Load(), s.lost.Load(), s.dropped.Load()
}

// Close sends what is left, until ctx ends.
func (s *Sender[T]) Close(ctx context.Context) {
	s.mu.Lock()
	if !s.closed {
		close(s.queue)
	}
	s.closed = true
	s.mu.Unlock()
	defer context.AfterFunc(ctx, s.stop)()
	<-s.done
	s.stop()
}

func (s *Sender[T]) run(ctx context.Context) {
	defer close(s.done)
	var batch []T
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for open := true; open; {
		var item T
		select {
		case item, open = <-s.queue:
			if open {
				batch = append(batch, item)
			}
			if open && len(batch) < maxBatch {
				continue
			}
		case <-tick.C:
		}
		s.send(ctx, batch)
		batch = nil
	}
}

func (s *Sender[T]) send(ctx context.Context, batch []T) {
	n := int64(len(batch))
	if n == 0 {
		return
	}
	err := s.to.Send(ctx, s.request(batch))
	if err == nil {
		s.sent.Add(n)
		s.full.Store(false)
	} else {
		s.lost.Add(n)
	}
	if err != nil && !s.failed {
		s.log.Warn("the collector does not take "+s.what+"; it misses them until it does", "collector", s.origin(), "error",
			err)
	}
	s.failed = err != nil
}

func (s *Sender[T]) origin() string { return secrets.SchemeHost(s.to.URL) }
