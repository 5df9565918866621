package upstream

import (
	"runtime"
	"sync"
)

// A spawner starts processes from one thread that lives as long as it does.
// Linux sends a child its parent-death signal when the thread that started it
// ends, not the process, and Go ends threads when it likes.
type spawner struct {
	work chan func()
	once sync.Once
	quit chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), quit: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case f := <-s.work:
				f()
			case <-s.quit:
				return
			}
		}
	}()
	return s
}

// do runs f on the thread and returns what it returns.
func (s *spawner) do(f func() error) error {
	err := make(chan error, 1)
	select {
	case s.work <- func() { err <- f() }:
		return <-err
	case <-s.quit:
		return errClosed
	}
}

// close must not be called before the last child is dead.
func (s *spawner) close() { s.once.Do(func() { close(s.quit) }) }
