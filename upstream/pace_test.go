package upstream

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAFloodIsReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		began := time.Now()
		for range paceBurst {
			p.spend(10)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("what comes at once at first took %v", took)
		}
		began = time.Now()
		for range 10 * paceRate {
			p.spend(10)
		}
		if took := time.Since(began); took < 8*time.Second || took > 12*time.Second {
			t.Errorf("ten seconds' worth of messages took %v", took)
		}
		time.Sleep(time.Minute)
		began = time.Now()
		for range paceBurst / 2 {
			p.spend(0)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("after a quiet minute half a burst took %v", took)
		}
	})
}
