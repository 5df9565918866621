package runs

import (
	"fmt"
	"sync"
	"time"
)

const (
	// maxTexts is how many bytes of one owner's program texts are recorded per hour.
	maxTexts int64 = 64 << 20
	// smallText is how much of each text is free: as much as other entries need.
	smallText = 4 << 10
	// largeText is the length at which the record cuts a text.
	largeText = 64 << 10
)

// A textBudget bounds the texts of programs in the record, which is kept forever.
type textBudget struct {
	most int64 // bytes of one owner per hour

	mu    sync.Mutex
	since time.Time
	used  map[string]int64 // by owner, in the hour from since
}

// spend counts the text of a program that is about to run. The error says how long its owner has to wait.
func (b *textBudget) spend(owner string, text int, now time.Time) error {
	n := int64(min(text, largeText) - smallText)
	if n <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == nil || now.Sub(b.since) >= time.Hour {
		b.since, b.used = now, map[string]int64{}
	}
	if b.used[owner]+n > b.most {
		return fmt.Errorf("not started: your share of program texts in the record is used up: send programs of at most %d bytes, or try again in %s; "+
			"capacity.programText in the configuration is %d bytes an hour", smallText,
			b.since.Add(time.Hour).Sub(now).Round(time.Second), b.most)
	}
	b.used[owner] += n
	return nil
}
