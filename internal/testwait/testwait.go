// Package testwait waits for what servers and goroutines do that tests cannot
// see: first of all for what they log, and where nothing tells, by looking again.
//
// Whoever can wait for the thing itself does not need it: a channel, an answer or
// a bubble (testing/synctest) says when it has happened.
package testwait

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds everything that is waited for: the machine may be busy.
const patience = 2 * time.Minute

// pause is that between looks.
const pause = 2 * time.Millisecond

// Log holds what a logger has written and tells of each line. The zero Log is
// empty. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed at the next write; nil while nobody waits
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.text.Write(p)
}

// String is all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Await waits until a text was written n times; it ends the test with the log
// after two minutes.
func (l *Log) Await(t testing.TB, text string, n int) {
	t.Helper()
	late := time.After(patience)
	for {
		log, more := l.now()
		if strings.Count(log, text) >= n {
			return
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("%q is not logged %d times:\n%s", text, n, log)
		}
	}
}

func (l *Log) now() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more == nil {
		l.more = make(chan struct{})
	}
	return l.text.String(), l.more
}

// Until looks until something is so. It is for what nobody tells of: the state of
// a server that is a library's, the number of goroutines.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	Nil(t, func() error {
		if is() {
			return nil
		}
		return errors.New("it does not come: " + what)
	})
}

// Nil does something again and again until it gives no error; it ends the test
// with the last one after two minutes.
func Nil(t testing.TB, do func() error) {
	t.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(pause) {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
}
