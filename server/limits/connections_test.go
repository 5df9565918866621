package limits

import (
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A connection has a moment to send its request, however many others there are: only one that stays silent makes way.
func TestAConnectionHasTimeToSendItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := NewConnections(New(0, 0).Connections)
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
		}()
		accept()
		if d := time.Since(began); cs.all[first] == nil || d < anonymousWait/2 || d >= anonymousWait {
			t.Errorf("the first is there: %v; one more was accepted after %v", cs.all[first] != nil, d)
		}
		accept()
		if d := time.Since(began); cs.all[second] != nil || cs.all[first] == nil || d < anonymousWait || d > 2*anonymousWait {
			t.Errorf("the silent one is there: %v; one more was accepted after %v", cs.all[second] != nil, d)
		}
		cs.changed(first, http.StateIdle) // its request was refused
		if cs.all[first] != nil {
			t.Error("one more than may be silent is there")
		}
	})
}
