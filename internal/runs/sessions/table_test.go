package sessions

import (
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/storetest"
)

// The sessions of a process without a database behave as those of one.
func TestMemory(t *testing.T) {
	storetest.TestSessions(t, func(*testing.T) storetest.Place {
		m := &memory{}
		return storetest.Place{One: m, Other: m,
			Begin: func(_ *testing.T, session, run string) (*store.ParkedRun, func(), error) {
				err := m.enroll(session, run, time.Now().Add(time.Hour))
				return nil, func() { m.free(session) }, err
			}}
	})
}
