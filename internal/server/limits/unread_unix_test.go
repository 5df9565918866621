//go:build unix

package limits

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A near is one end of a pipe that comes from an address.
type near struct {
	net.Conn
	from net.Addr
}

func (n near) RemoteAddr() net.Addr { return n.from }

// A request that has arrived is read, however long this process takes to get to it.
func TestAConnectionWhoseRequestHasArrivedIsKept(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	checktest.OK(t, err)
	defer client.Close()
	first, err := listener.Accept()
	checktest.OK(t, err)
	defer first.Close()
	if unread(first) {
		t.Fatal("nothing was sent, but something has arrived")
	}
	cs := NewConnections(New(0, 0, "").Connections)
	cs.changed(first, http.StateNew)
	accept := func() {
		c, _ := net.Pipe()
		cs.changed(near{c, first.RemoteAddr()}, http.StateNew)
	}
	for range maxAnonymous - 1 {
		accept()
	}
	if _, err := client.Write([]byte("P")); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the kernel takes it from one end to the other", func() bool { return unread(first) })
	accepted := make(chan struct{})
	go func() {
		accept()
		close(accepted)
	}()
	select {
	case <-accepted:
		t.Error("it was closed for a newer one")
	case <-time.After(2 * anonymousWait):
	}
	cs.changed(first, http.StateActive)
	<-accepted
}
