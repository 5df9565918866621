package upstream

import (
	"errors"
	"runtime"
	"sync"
)

// A thread runs functions on one operating-system thread that lives as long as
// it does. Linux sends a child its parent-death signal when the thread that
// started it ends, not the process, and Go ends threads when it likes.
type thread struct {
	work chan func()
	once sync.Once
	quit chan struct{}
}

func newThread() *thread {
	t := &thread{work: make(chan func()), quit: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case f := <-t.work:
				f()
			case <-t.quit:
				return
			}
		}
	}()
	return t
}

// do runs f on the thread and returns its error.
func (t *thread) do(f func() error) error {
	err := make(chan error, 1)
	select {
	case t.work <- func() { err <- f() }:
		return <-err
	case <-t.quit:
		return errors.New("no process is started after Close")
	}
}

func (t *thread) close() { t.once.Do(func() { close(t.quit) }) }
