package limits

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A connection has a moment to send its request, however many others there are: only one that stays silent makes way.
func TestAConnectionHasTimeToSendItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := NewConnections(New(0, 0, "").Connections)
		accept := func() net.Conn {
			c, other := net.Pipe()
			t.Cleanup(func() { c.Close(); other.Close() })
			cs.changed(c, http.StateNew)
			return c
		}
		began := time.Now()
		first := accept()
		time.Sleep(time.Millisecond)
		second := accept()
		time.Sleep(time.Millisecond)
		for range maxAnonymous - 2 {
			accept()
		}
		if d := time.Since(began); d != 2*time.Millisecond {
			t.Errorf("%d connections were accepted after %v", maxAnonymous, d)
		}
		go func() {
			time.Sleep(anonymousWait / 2)
			cs.changed(first, http.StateActive) // it was read only now
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), connectionKey{}, first), "POST", "/mcp", nil)
			if err := cs.Assign(r, "anna"); err != nil {
				t.Error(err)
			}
		}()
		accept()
		if d := time.Since(began); cs.all[first] == nil || d < anonymousWait/2 || d >= anonymousWait {
			t.Errorf("the first is there: %v; one more was accepted after %v", cs.all[first] != nil, d)
		}
		accept()
		if d := time.Since(began); cs.all[second] != nil || cs.all[first] == nil || d < anonymousWait || d > 2*anonymousWait {
			t.Errorf("the silent one is there: %v; one more was accepted after %v", cs.all[second] != nil, d)
		}
	})
}

// A connection without a token makes way while its request is unfinished too, so that nobody keeps others out by
// sending half of one. An idle one makes way first.
func TestBusyConnectionsWithoutATokenMakeWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := WithoutOwners(10)
		accept := func() net.Conn {
			c, other := net.Pipe()
			t.Cleanup(func() { c.Close(); other.Close() })
			cs.changed(c, http.StateNew)
			return c
		}
		silent := accept()
		var half []net.Conn
		for range 9 {
			half = append(half, accept())
			cs.changed(half[len(half)-1], http.StateActive)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(anonymousWait)
		began := time.Now()
		newer := []net.Conn{accept(), accept()}
		if d := time.Since(began); d != 0 || cs.all[silent] != nil || cs.all[half[0]] != nil {
			t.Errorf("two more were accepted after %v; the silent one is there: %v; the oldest half request too: %v", d,
				cs.all[silent] != nil, cs.all[half[0]] != nil)
		}
		for _, c := range append(half[1:], newer...) {
			if cs.all[c] == nil {
				t.Error("more were closed than had to make way")
			}
		}
	})
}

// Whatever its handler does, a listener ends a request whose body does not come, and an answer that nobody reads.
func TestNoRequestAndNoAnswerTakesForEver(t *testing.T) {
	for name, sent := range map[string]string{
		"half a body":               "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
		"answers that nobody reads": strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 3),
		"half a body, after another": "GET / HTTP/1.1\r\nHost: x\r\n\r\n" +
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					http.Error(w, "no token", http.StatusUnauthorized)
				})}
				WithoutOwners(10).Protect(server)
				one := &oneConnection{accepted: make(chan struct{})}
				var client net.Conn
				one.Conn, client = net.Pipe() // without a buffer: what nobody reads is not written
				go server.Serve(one)
				go client.Write([]byte(sent))
				if name == "half a body, after another" {
					go io.Copy(io.Discard, client)
				}
				began := time.Now()
				<-one.accepted // for the second time: the connection is closed
				if d := time.Since(began); d < requestWait || d > answerWait+requestWait {
					t.Errorf("it was closed after %v", d)
				}
				server.Close()
				client.Close()
			})
		})
	}
}

// oneConnection listens for one connection, and says when it is closed.
type oneConnection struct {
	net.Conn
	accepted chan struct{}
	given    atomic.Bool
	over     sync.Once
}

func (o *oneConnection) Accept() (net.Conn, error) {
	if !o.given.Swap(true) {
		return closing{o.Conn, o}, nil
	}
	<-o.accepted
	return nil, net.ErrClosed
}

func (o *oneConnection) Close() error   { return nil }
func (o *oneConnection) Addr() net.Addr { return o.LocalAddr() }

type closing struct {
	net.Conn
	of *oneConnection
}

func (c closing) Close() error {
	c.of.over.Do(func() { close(c.of.accepted) })
	return c.Conn.Close()
}
