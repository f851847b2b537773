package mariadbtest

import "testing"

func TestServer(t *testing.T) {
	t.Parallel()
	s := Start(t)
	if !s.answers() {
		t.Fatal("got no answer from a fresh server")
	}
	s.Kill()
	if s.answers() {
		t.Fatal("got an answer from a killed server")
	}
	s.Restart()
	if !s.answers() {
		t.Fatal("got no answer after a restart")
	}
}
