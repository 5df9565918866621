//go:build !unix

package pgtest

const onUnix = "these tests start PostgreSQL on Unix only: they suspend its processes and reach it by a socket's path"

func (s *Server) unprivileged() { s.t.Skip(onUnix) }

// Freeze is for Unix.
func (s *Server) Freeze() { s.t.Skip(onUnix) }

// Thaw is for Unix.
func (s *Server) Thaw() { s.t.Skip(onUnix) }
