//go:build unix

package upstream

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestAnOutputIsReadOnAfterANap(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &output{file: r}
	write := func(s string) {
		t.Helper()
		if _, err := w.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want string) {
		t.Helper()
		b := make([]byte, len(want))
		if _, err := io.ReadFull(o, b); err != nil || string(b) != want {
			t.Errorf("read %q, %v; want %q", b, err, want)
		}
	}
	over := make(chan struct{})
	close(over)
	write("one ")
	for range 3 {
		read("one ")
		o.nap(time.Hour, over)
		write("one ")
	}
	read("one ")

	napping, end := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(napping)
		o.nap(time.Hour, end)
	}()
	write("two ") // during the nap, or before it
	close(end)
	<-napping
	read("two ")

	go func() { time.Sleep(10 * time.Millisecond); _ = w.Close() }()
	if _, err := o.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("at the end of the pipe: got %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

func TestAnOutputClosedDuringANapStaysClosed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &output{file: r}
	end, napping := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(napping)
		o.nap(time.Hour, end)
	}()
	time.Sleep(10 * time.Millisecond)
	_ = o.Close() // an error if it was open no more
	close(end)
	<-napping
	if _, err := o.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading: got %v", err)
	}
	if _, err := w.WriteString("x"); err == nil {
		t.Error("the pipe is still open for reading")
	}
	o.nap(0, nil) // of what is closed
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
